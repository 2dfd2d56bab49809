import { readFileSync, renameSync, writeFileSync } from "node:fs";
import type { Logger } from "@rnode/observe";
import { isSystemError } from "@rnode/primitives";

const MAX_FILE_BYTES = 4 * 1024 * 1024;

/** Peer data that survives restarts: a line of JSON per peer. Unreadable lines are skipped; losing the file only costs time. */
export class PeerFile<T> {
  readonly #path: string | undefined;
  readonly #parse: (value: unknown) => T | undefined;
  readonly #log: Logger;
  #stored = "";

  /** @param path `undefined`: nothing is stored */
  constructor(path: string | undefined, parse: (value: unknown) => T | undefined, log: Logger) {
    this.#path = path;
    this.#parse = parse;
    this.#log = log;
  }

  load(): T[] {
    if (this.#path === undefined) return [];
    try {
      this.#stored = readFileSync(this.#path, "utf8").slice(0, MAX_FILE_BYTES);
    } catch (error) {
      if (!isSystemError(error, "ENOENT"))
        this.#log.warn("what was known of peers cannot be read: starting anew", { file: this.#path, error: String(error) });
      return [];
    }
    return this.#stored.split("\n").flatMap((line) => {
      try {
        return (line === "" ? undefined : this.#parse(JSON.parse(line))) ?? [];
      } catch {
        return [];
      }
    });
  }

  save(values: readonly T[]): void {
    const text = values.map((value) => `${JSON.stringify(value)}\n`).join("");
    if (this.#path === undefined || text === this.#stored) return;
    try {
      writeFileSync(`${this.#path}.new`, text, { mode: 0o600 });
      renameSync(`${this.#path}.new`, this.#path);
      this.#stored = text;
    } catch (error) {
      this.#log.warn("what is known of peers cannot be kept", { file: this.#path, error: String(error) });
    }
  }
}
