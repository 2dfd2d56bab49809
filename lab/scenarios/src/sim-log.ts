import { createLogger, type LogFields, type Logger, silentLogger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";

/** The events of a scenario, in order: of the network, and from the programs' logs. */
export class SimLog {
  readonly lines: string[] = [];
  readonly #isKept: boolean;
  readonly #clock: Pick<Clock, "unixMs">;
  readonly #startMs: number;

  /** @param isKept false: nothing is recorded, which is faster */
  constructor(clock: Pick<Clock, "unixMs">, isKept: boolean) {
    this.#clock = clock;
    this.#startMs = clock.unixMs();
    this.#isKept = isKept;
  }

  note(who: string, text: string): void {
    if (!this.#isKept) return;
    const seconds = ((this.#clock.unixMs() - this.#startMs) / 1000).toFixed(3);
    this.lines.push(`${seconds.padStart(9)}  ${who.padEnd(11)} ${text}`);
  }

  loggerOf(who: string): Logger {
    if (!this.#isKept) return silentLogger;
    const fieldsText = (fields: readonly LogFields[]): string =>
      fields
        .flatMap((some) => Object.entries(some))
        .map(([name, value]) => ` ${name}=${value instanceof Error ? value.message : shown(value)}`)
        .join("");
    return createLogger({
      level: "debug",
      format: ({ level, text, fields }) => `${level.padEnd(5)} ${text}${fieldsText(fields)}`,
      destination: { write: (line) => this.note(who, line.trimEnd()) },
      clock: () => this.#clock.unixMs(),
    });
  }
}

const shown = (value: unknown): string => {
  const text = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
  return /^0x[0-9a-f]{20,}$/.test(text) ? `${text.slice(0, 10)}…` : text;
};
