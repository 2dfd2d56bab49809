import { type LogFields, type Logger, silentLogger } from "@rnode/observe";

export interface LoggedLine {
  readonly level: string;
  readonly text: string;
  readonly fields: LogFields | undefined;
}

/** A logger that keeps its lines. */
export function recordingLogger(): { readonly log: Logger; readonly logs: LoggedLine[] } {
  const logs: LoggedLine[] = [];
  const levels = (["error", "warn", "info", "debug", "trace"] as const).map((level) => [
    level,
    { value: (text: string, fields?: LogFields) => logs.push({ level, text, fields }) },
  ]);
  const properties = { ...Object.fromEntries(levels), isEnabled: { value: () => true } } as PropertyDescriptorMap;
  return { log: Object.create(silentLogger, properties) as Logger, logs };
}
