import { isatty } from "node:tty";
import { pino } from "pino";
import { LevelMethods, type LineLevel } from "./level-methods.ts";
import { type LogFields, type LogFormat, type RecordFormatter, recordFormatter } from "./log-format.ts";
import { LOG_LEVELS, type LogLevel, levelIndex } from "./log-level.ts";
import type { Logger } from "./logger-type.ts";

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

class SinkLogger extends LevelMethods {
  readonly #sink: Sink;
  readonly #fields: readonly LogFields[];

  constructor(sink: Sink, fields: readonly LogFields[]) {
    super();
    this.#sink = sink;
    this.#fields = fields;
  }

  child(fields: LogFields): Logger {
    return new SinkLogger(this.#sink, [...this.#fields, fields]);
  }

  get level(): LogLevel {
    return LOG_LEVELS[this.#sink.levelIndex]!;
  }
  set level(level: LogLevel) {
    this.#sink.levelIndex = levelIndex(level);
  }

  protected write(level: LineLevel, text: string, fields: LogFields | undefined): void {
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
