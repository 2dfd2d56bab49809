import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bytesToHex, isSystemError } from "@rnode/primitives";

/** Data in a folder, one file for each commitment. */
export class DaStore {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** @throws the folder cannot be made */
  static async open(folder: string): Promise<DaStore> {
    await mkdir(folder, { recursive: true });
    return new DaStore(folder);
  }

  /** @param commitment bounded by the caller: its hex digits are the file's name */
  async get(commitment: Uint8Array): Promise<Uint8Array | undefined> {
    try {
      return await readFile(this.#pathOf(commitment));
    } catch (error) {
      if (isSystemError(error, "ENOENT")) return undefined;
      throw error;
    }
  }

  /** Whole or not at all: the file appears under its name once it is written. */
  async put(commitment: Uint8Array, input: Uint8Array): Promise<void> {
    const path = this.#pathOf(commitment);
    const temporary = `${path}.${randomBytes(8).toString("hex")}.new`;
    try {
      await writeFile(temporary, input, { flush: true });
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** Forgets data, as a server that fails its users does. */
  async remove(commitment: Uint8Array): Promise<void> {
    await rm(this.#pathOf(commitment), { force: true });
  }

  #pathOf(commitment: Uint8Array): string {
    return join(this.#folder, bytesToHex(commitment).slice(2));
  }
}
