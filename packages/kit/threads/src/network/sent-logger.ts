import { errorText, LevelMethods, type LineLevel, type LogFields, type Logger, type LogLevel } from "@rnode/observe";

export interface LogLine {
  readonly level: LineLevel;
  readonly text: string;
  readonly fields: LogFields;
}

/** A logger whose lines another thread writes. */
export class SentLogger extends LevelMethods {
  readonly #shared: { level: LogLevel };
  readonly #fields: LogFields;
  readonly #send: (line: LogLine) => void;

  constructor(level: LogLevel, send: (line: LogLine) => void, fields: LogFields = {}, shared: { level: LogLevel } = { level }) {
    super();
    this.#shared = shared;
    this.#send = send;
    this.#fields = fields;
  }

  child(fields: LogFields): Logger {
    return new SentLogger(this.level, this.#send, { ...this.#fields, ...fields }, this.#shared);
  }

  get level(): LogLevel {
    return this.#shared.level;
  }
  set level(level: LogLevel) {
    this.#shared.level = level;
  }

  protected write(level: LineLevel, text: string, fields: LogFields | undefined): void {
    if (this.isEnabled(level)) this.#send({ level, text, fields: plain({ ...this.#fields, ...fields }) });
  }
}

/** What can cross to another thread. */
const plain = (fields: LogFields): LogFields =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, isPlain(value) ? value : textOf(value)]));

const isPlain = (value: unknown): boolean =>
  value === null || value instanceof Uint8Array || !["object", "function", "symbol"].includes(typeof value);

const textOf = (value: unknown): string => {
  if (value instanceof Error) return errorText(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
};
