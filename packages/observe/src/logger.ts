import { isatty } from "node:tty";
import { pino } from "pino";
import { type LogFields, type LogFormat, type RecordFormatter, recordFormatter } from "./log-format.ts";
import { LOG_LEVELS, type LogLevel, levelIndex } from "./log-level.ts";

/** Takes whole lines. Must be synchronous, so that a crash loses nothing. */
export interface LogDestination {
  write(line: string): void;
}

export interface LoggerOptions {
  readonly level: LogLevel;
  /** text is terminal on a terminal and logfmt elsewhere */
  readonly format: LogFormat | RecordFormatter;
  readonly color?: boolean;
  /** adds the process id to each record */
  readonly pid?: boolean;
  /** default: standard error */
  readonly destination?: LogDestination;
  readonly clock?: () => number;
}

/** The text is constant; what varies goes into fields: `log.info("channel complete", { channelId, sizeBytes })`. */
export interface Logger {
  /** the operator must act */
  error(text: string, fields?: LogFields): void;
  /** we are degraded */
  warn(text: string, fields?: LogFields): void;
  /** a few lines per block */
  info(text: string, fields?: LogFields): void;
  /** per message */
  debug(text: string, fields?: LogFields): void;
  trace(text: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each record; it shares the level. */
  child(fields: LogFields): Logger;
  /** Whether a record of this level would be written: for fields that are expensive to compute. */
  isEnabled(level: LogLevel): boolean;
  /** shared by this logger, its parents and its children */
  level: LogLevel;
}

interface Sink {
  levelIndex: number;
  readonly format: RecordFormatter;
  readonly destination: LogDestination;
  readonly clock: () => number;
}

const STDERR = 2;
const DEBUG_INDEX = levelIndex("debug");

export function createLogger(options: LoggerOptions): Logger {
  const destination = options.destination ?? pino.destination({ dest: STDERR, sync: true });
  const isTty = options.destination === undefined && isatty(STDERR);
  return new SinkLogger(
    {
      levelIndex: levelIndex(options.level),
      format:
        typeof options.format === "string"
          ? recordFormatter(options.format, { color: options.color ?? isTty, isTty })
          : options.format,
      destination,
      clock: options.clock ?? Date.now,
    },
    options.pid ? [{ pid: process.pid }] : [],
  );
}

class SinkLogger implements Logger {
  readonly #sink: Sink;
  readonly #fields: readonly LogFields[];

  constructor(sink: Sink, fields: readonly LogFields[]) {
    this.#sink = sink;
    this.#fields = fields;
  }

  error(text: string, fields?: LogFields): void {
    this.#write("error", text, fields);
  }
  warn(text: string, fields?: LogFields): void {
    this.#write("warn", text, fields);
  }
  info(text: string, fields?: LogFields): void {
    this.#write("info", text, fields);
  }
  debug(text: string, fields?: LogFields): void {
    this.#write("debug", text, fields);
  }
  trace(text: string, fields?: LogFields): void {
    this.#write("trace", text, fields);
  }

  child(fields: LogFields): Logger {
    return new SinkLogger(this.#sink, [...this.#fields, fields]);
  }

  isEnabled(level: LogLevel): boolean {
    return levelIndex(level) <= this.#sink.levelIndex && level !== "silent";
  }

  get level(): LogLevel {
    return LOG_LEVELS[this.#sink.levelIndex]!;
  }
  set level(level: LogLevel) {
    this.#sink.levelIndex = levelIndex(level);
  }

  #write(level: Exclude<LogLevel, "silent">, text: string, fields: LogFields | undefined): void {
    const sink = this.#sink;
    if (levelIndex(level) > sink.levelIndex) return;
    const line = sink.format({
      timeMs: sink.clock(),
      level,
      text,
      fields: fields === undefined ? this.#fields : [...this.#fields, fields],
      withStacks: sink.levelIndex >= DEBUG_INDEX,
    });
    sink.destination.write(`${line}\n`);
  }
}

/** Writes nothing: for tests and for parts used without a program around them. */
export const silentLogger: Logger = createLogger({ level: "silent", format: "logfmt", destination: { write: () => {} } });
