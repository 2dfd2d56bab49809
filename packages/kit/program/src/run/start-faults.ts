import { createLogger, type LogFormat } from "@rnode/observe";
import type { OptionInEffect } from "../options/option-group.ts";
import { printFailure } from "../process/failure.ts";

export interface StartFaults {
  readonly faults: readonly string[];
  readonly inEffect: ReadonlyMap<string, OptionInEffect>;
}

/** Formats that machines read. In the others, a plain line says it best. */
const FOR_MACHINES: readonly unknown[] = ["json", "json-pretty", "logfmt"] satisfies LogFormat[];

/** Logs the errors in the options, in the format of the log options if they are valid. */
export function tellFaults(name: string, { faults, inEffect }: StartFaults): void {
  const format = inEffect.get("log.format")?.value;
  if (!FOR_MACHINES.includes(format)) {
    for (const fault of faults) printFailure(name, fault);
    return;
  }
  const log = createLogger({ level: "error", format: format as LogFormat, pid: inEffect.get("log.pid")?.value === true });
  for (const fault of faults) log.error(`${name} cannot start`, { error: fault });
}
