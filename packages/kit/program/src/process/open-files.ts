import { readFileSync } from "node:fs";

/** Loading a program opens its modules side by side: a reader of rengine, the largest, needs 180. It is also the default of macOS. */
const MIN_LIMIT = 256;
const ADVISED_LIMIT = 4096;
/** Reserve for the database, threads, reader processes, requests to L1 and to the engine, and log files. */
const RESERVED = 96;

let known: { readonly limit: number | undefined } | undefined;

/**
 * The process's limit of file descriptors; `undefined`: unknown on this system. Node.js has raised it to the hard limit. Read
 * once, because reading needs a descriptor.
 */
function openFilesLimit(): number | undefined {
  known ??= { limit: readLimit() };
  return known.limit;
}

function readLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined; // not Linux
  }
}

/** Why the programs do not start with a limit; `undefined`: they do. */
export function openFilesFault(limit = openFilesLimit()): string | undefined {
  return limit === undefined || limit >= MIN_LIMIT
    ? undefined
    : `${openFilesAdvice(limit)}; ${MIN_LIMIT} is the least it runs with`;
}

/** Maximum number of descriptors for clients' connections; `undefined`: no limit. */
export function connectionBudget(limit = openFilesLimit()): number | undefined {
  return limit === undefined ? undefined : Math.max(1, limit - RESERVED);
}

/** Whether an error, or one that caused it, says that no file descriptor was left. */
export function isOutOfFiles(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && (cause.code === "EMFILE" || cause.code === "ENFILE")) return true;
    if (/\bE[MN]FILE\b|too many open files/i.test(cause.message)) return true;
  }
  return false;
}

/** What to do about too few file descriptors. */
export function openFilesAdvice(limit = openFilesLimit()): string {
  const found = limit === undefined ? "the limit of open files is too low" : `the limit of open files is ${limit}`;
  return `${found}: raise it to ${ADVISED_LIMIT} (ulimit -n ${ADVISED_LIMIT}, or LimitNOFILE=${ADVISED_LIMIT} in a systemd unit)`;
}
