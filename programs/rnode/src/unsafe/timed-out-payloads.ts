import { closeSync, existsSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { errorText, type Logger } from "@rnode/observe";
import { type Hex, LruCache } from "@rnode/primitives";
import { makeFolder } from "@rnode/program";

const MAX_PAYLOADS = 1_000;
const HASH = /^0x[0-9a-f]{64}$/;

/**
 * How often the engine did not finish each unsafe payload in time. Kept in a file, because a restart must not send them all again.
 *
 * Form: a JSON object from block hash to count, the oldest first.
 */
export class TimedOutPayloads {
  private readonly path: string | undefined;
  private readonly log: Logger;
  private readonly counts = new LruCache<Hex, number>(MAX_PAYLOADS);

  /** @param path undefined: only in memory */
  constructor(path: string | undefined, log: Logger) {
    this.path = path;
    this.log = log;
    for (const [hash, count] of this.load()) this.counts.set(hash, count);
  }

  count(hash: Hex): number {
    return this.counts.get(hash) ?? 0;
  }

  add(hash: Hex): void {
    this.counts.set(hash, this.count(hash) + 1);
    try {
      this.save();
    } catch (error) {
      this.log.warn("cannot write the list of timed-out payloads: a restart forgets it", {
        path: this.path,
        reason: errorText(error),
      });
    }
  }

  private load(): [Hex, number][] {
    const { path } = this;
    if (path === undefined || !existsSync(path)) return [];
    try {
      const entries = Object.entries(JSON.parse(readFileSync(path, "utf8")) as object).slice(-MAX_PAYLOADS);
      return entries.filter((entry): entry is [Hex, number] => HASH.test(entry[0]) && Number.isSafeInteger(entry[1]));
    } catch (error) {
      this.log.warn("cannot read the list of timed-out payloads, starting with an empty one", { path, reason: errorText(error) });
      return [];
    }
  }

  /** Replaces the file atomically: a kill leaves either the old or the new list. */
  private save(): void {
    const { path } = this;
    if (path === undefined) return;
    makeFolder(dirname(path));
    const temporaryPath = `${path}.tmp`;
    const file = openSync(temporaryPath, "w", 0o600);
    try {
      writeSync(file, `${JSON.stringify(Object.fromEntries(this.counts))}\n`);
    } finally {
      closeSync(file);
    }
    renameSync(temporaryPath, path);
  }
}
