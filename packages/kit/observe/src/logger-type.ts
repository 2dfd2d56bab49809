import type { LogFields } from "./log-format.ts";
import type { LogLevel } from "./log-level.ts";

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
  /** every request and step; `detail` is its name for users */
  trace(text: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each record; it shares the level. */
  child(fields: LogFields): Logger;
  /** Whether a record of this level would be written: for fields that are expensive to compute. */
  isEnabled(level: LogLevel): boolean;
  /** shared by this logger, its parents and its children */
  level: LogLevel;
}
