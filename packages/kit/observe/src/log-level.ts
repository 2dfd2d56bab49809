/** In order: each level includes those before it. */
export const LOG_LEVELS = ["silent", "error", "warn", "info", "debug", "trace"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const OTHER_NAMES: ReadonlyMap<string, LogLevel> = new Map([
  ["eror", "error"],
  ["crit", "error"],
  ["warning", "warn"],
  ["dbug", "debug"],
  ["trce", "trace"],
  ["detail", "trace"],
]);

/** A level by name in any case (also `crit`, `eror`, `dbug`, `trce`, `detail`) or by number, 0 to 5; undefined if it is neither. */
export function parseLogLevel(text: string): LogLevel | undefined {
  const name = text.trim().toLowerCase();
  if (/^[0-5]$/.test(name)) return LOG_LEVELS[Number(name)];
  return LOG_LEVELS.find((level) => level === name) ?? OTHER_NAMES.get(name);
}

export const levelIndex = (level: LogLevel): number => LOG_LEVELS.indexOf(level);

/** The name of a level as options and lines have it: the finest is `detail` there, whatever its method is called. */
export const levelName = (level: LogLevel): string => (level === "trace" ? "detail" : level);
