import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ENR } from "@chainsafe/enr";
import type { Logger } from "@rnode/observe";
import { isSystemError } from "@rnode/primitives";
import { makeFolder } from "@rnode/program";
import { P2PSettingError } from "../settings-error.ts";

/** kona's limit */
const MAX_RECORDS = 2_048;
/** of a record as text, with its line's end; records are at most 300 bytes */
const MAX_RECORD_CHARS = 420;

/** Keeps records that were found over restarts: a file with one record a line. */
export class RecordStore {
  readonly #file: string | undefined;
  readonly #log: Logger;
  #stored = "";

  /** @param folder `undefined`: nothing is stored. @throws {P2PSettingError} discovery.path */
  constructor(folder: string | undefined, log: Logger) {
    this.#log = log;
    this.#file = folder === undefined ? undefined : join(folder, "records");
    try {
      if (folder !== undefined) makeFolder(folder);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      const remedy = 'give a folder that can be written to, or the word "memory"';
      throw new P2PSettingError("discovery.path", `${folder} cannot be used (${reason}): ${remedy}`, { cause });
    }
  }

  /** Skips damaged records. */
  load(): ENR[] {
    if (this.#file === undefined) return [];
    try {
      this.#stored = readFileSync(this.#file, "latin1").slice(0, MAX_RECORDS * MAX_RECORD_CHARS);
    } catch (error) {
      if (!isSystemError(error, "ENOENT"))
        this.#log.warn("records found earlier cannot be read: searching anew", { file: this.#file, error: String(error) });
      return [];
    }
    return this.#stored.split("\n").flatMap((line) => {
      try {
        return line === "" ? [] : [ENR.decodeTxt(line)];
      } catch {
        return [];
      }
    });
  }

  save(records: readonly ENR[]): void {
    const text = records
      .slice(0, MAX_RECORDS)
      .map((record) => `${record.encodeTxt()}\n`)
      .join("");
    if (this.#file === undefined || text === this.#stored) return;
    try {
      const unfinished = `${this.#file}.new`;
      writeFileSync(unfinished, text);
      renameSync(unfinished, this.#file);
      this.#stored = text;
    } catch (error) {
      this.#log.warn("records that were found cannot be kept", { file: this.#file, error: String(error) });
    }
  }
}
