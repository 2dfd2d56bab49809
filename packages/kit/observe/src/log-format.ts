import { bytesToHex } from "@rnode/primitives";
import { type LogLevel, levelName } from "./log-level.ts";

export const LOG_FORMATS = ["text", "terminal", "logfmt", "json", "json-pretty"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** Values that accompany the constant text. Bytes are printed as hex, an error with its causes. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface LogRecord {
  readonly timeMs: number;
  readonly level: Exclude<LogLevel, "silent">;
  readonly text: string;
  readonly fields: readonly LogFields[];
  /** stack traces of errors are printed */
  readonly withStacks: boolean;
}

/** One record as text, without the final newline. */
export type RecordFormatter = (record: LogRecord) => string;

export function recordFormatter(format: LogFormat, { color, isTty }: { color: boolean; isTty: boolean }): RecordFormatter {
  switch (format) {
    case "text":
      return isTty ? (record) => formatTerminal(record, color) : formatLogfmt;
    case "terminal":
      return (record) => formatTerminal(record, color);
    case "logfmt":
      return formatLogfmt;
    case "json":
      return (record) => formatJson(record, undefined);
    case "json-pretty":
      return (record) => formatJson(record, 2);
  }
}

const COLORS: Readonly<Record<LogRecord["level"], number>> = { error: 31, warn: 33, info: 32, debug: 36, trace: 34 };
const TEXT_WIDTH = 40;

function formatTerminal(record: LogRecord, color: boolean): string {
  const { level } = record;
  const paint = (text: string): string => (color ? `\x1b[${COLORS[level]}m${text}\x1b[0m` : text);
  const time = new Date(record.timeMs).toISOString();
  const pairs = pairsOf(record).map(([key, value]) => `${paint(key)}=${value}`);
  const text = pairs.length === 0 ? escapeText(record.text) : escapeText(record.text).padEnd(TEXT_WIDTH);
  return `${paint(levelName(level).toUpperCase().padEnd(5))} [${time.slice(5, 10)}|${time.slice(11, 23)}] ${[text, ...pairs].join(" ")}`;
}

function formatLogfmt(record: LogRecord): string {
  const head = `t=${new Date(record.timeMs).toISOString()} lvl=${levelName(record.level)} msg=${quote(record.text)}`;
  const pairs = pairsOf(record).map(([key, value]) => `${key}=${value}`);
  return [head, ...pairs].join(" ");
}

function formatJson(record: LogRecord, indent: number | undefined): string {
  const merged: Record<string, unknown> = {
    t: new Date(record.timeMs).toISOString(),
    lvl: levelName(record.level),
    msg: record.text,
  };
  for (const fields of record.fields) {
    for (const [key, value] of Object.entries(fields)) merged[key in merged ? `${key}_` : key] = value;
  }
  return toJson(merged, record.withStacks, indent);
}

function pairsOf(record: LogRecord): [string, string][] {
  const merged = new Map<string, string>();
  for (const fields of record.fields) {
    for (const [key, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      merged.set(key.replace(/[\s="]/g, "_"), quote(plainText(value, record.withStacks)));
    }
  }
  return [...merged];
}

function plainText(value: unknown, withStacks: boolean): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return bytesToHex(value);
  if (value instanceof Error) return withStacks && value.stack !== undefined ? value.stack : errorText(value);
  if (typeof value === "object" && value !== null) return toJson(value, withStacks, undefined);
  return String(value);
}

/** The message of an error followed by those of its causes, unless it already ends with them: `l1 unreachable: connect ECONNREFUSED`. */
export function errorText(error: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = error, depth = 0; at !== undefined && at !== null && depth < 8; depth++) {
    if (!(at instanceof Error)) {
      parts.push(typeof at === "string" ? at : toJson(at, false, undefined));
      break;
    }
    const own = at.message === "" && at instanceof AggregateError ? at.errors.map(errorText).join("; ") : at.message || at.name;
    if (parts.at(-1)?.endsWith(own) !== true) parts.push(own);
    at = at.cause;
  }
  return parts.join(": ");
}

function toJson(value: unknown, withStacks: boolean, indent: number | undefined): string {
  const seen: unknown[] = [];
  const plain = (item: unknown): unknown => {
    if (typeof item === "bigint") return Number.isSafeInteger(Number(item)) ? Number(item) : item.toString();
    if (item instanceof Uint8Array) return bytesToHex(item);
    if (item instanceof Error) {
      const code = "code" in item ? item.code : undefined;
      return { message: errorText(item), ...(code === undefined ? {} : { code }), ...(withStacks ? { stack: item.stack } : {}) };
    }
    if (typeof item === "number" && !Number.isFinite(item)) return String(item);
    if (typeof item === "function" || typeof item === "symbol") return String(item);
    if (typeof item !== "object" || item === null) return item;
    if (seen.includes(item) || seen.length > 8) return "(nested)";
    seen.push(item);
    const copy = Array.isArray(item)
      ? item.map(plain)
      : item instanceof Map
        ? Object.fromEntries([...item].map(([key, inner]) => [String(key), plain(inner)]))
        : Object.fromEntries(Object.entries(item).map(([key, inner]) => [key, plain(inner)]));
    seen.pop();
    return copy;
  };
  return JSON.stringify(plain(value), undefined, indent);
}

/** A value that comes from a peer or a file must not start a new line or move the cursor. */
const UNSAFE = /[\p{Cc}\u2028\u2029]/gu;
const escapeText = (text: string): string =>
  text.replace(UNSAFE, (character) =>
    character === "\n" ? "\\n" : character === "\t" ? "\\t" : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function quote(text: string): string {
  if (text !== "" && /^[^\s"=\\]+$/.test(text) && escapeText(text) === text) return text;
  return `"${escapeText(text.replaceAll("\\", "\\\\").replaceAll('"', '\\"'))}"`;
}
