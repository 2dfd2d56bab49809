import type { LogFields } from "./log-format.ts";
import { type LogLevel, levelIndex } from "./log-level.ts";
import type { Logger } from "./logger-type.ts";

/** A level at which something can be written. */
export type LineLevel = Exclude<LogLevel, "silent">;

/** The methods of a logger, one per level, over one that writes: for every logger, wherever its lines go. */
export abstract class LevelMethods implements Logger {
  error(text: string, fields?: LogFields): void {
    this.write("error", text, fields);
  }
  warn(text: string, fields?: LogFields): void {
    this.write("warn", text, fields);
  }
  info(text: string, fields?: LogFields): void {
    this.write("info", text, fields);
  }
  debug(text: string, fields?: LogFields): void {
    this.write("debug", text, fields);
  }
  trace(text: string, fields?: LogFields): void {
    this.write("trace", text, fields);
  }

  isEnabled(level: LogLevel): boolean {
    return level !== "silent" && levelIndex(level) <= levelIndex(this.level);
  }

  abstract level: LogLevel;
  abstract child(fields: LogFields): Logger;
  /** Writes a line, if its level is enabled. */
  protected abstract write(level: LineLevel, text: string, fields: LogFields | undefined): void;
}
