import { type LogFields, type Logger, silentLogger } from "@rnode/observe";

export interface LoggedLine {
  readonly level: string;
  readonly text: string;
  readonly fields: LogFields | undefined;
}

/** A logger that keeps its lines. */
export function recordingLogger(): { readonly log: Logger; readonly logs: LoggedLine[] } {
  const logs: LoggedLine[] = [];
  const levels = (["error", "warn", "info", "debug"] as const).map((level) => [
    level,
    { value: (text: string, fields?: LogFields) => logs.push({ level, text, fields }) },
  ]);
  return { log: Object.create(silentLogger, Object.fromEntries(levels) as PropertyDescriptorMap) as Logger, logs };
}
