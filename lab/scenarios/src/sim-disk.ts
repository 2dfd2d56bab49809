import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { scratchFolder } from "./scratch.ts";

const DATA_FILE = "data.mdb";

/** The folder of a program for one of its databases, which outlives the program. */
export class SimDisk<T extends { close(): Promise<void> }> {
  readonly #root = scratchFolder("rnode-scenario-");
  readonly #openIn: (folder: string) => T;
  readonly #opened: T[] = [];
  #folder: string | undefined;

  constructor(openIn: (folder: string) => T) {
    this.#openIn = openIn;
  }

  /** The database of the previous process: a killed process has written its commits, and nothing afterwards. */
  open(): T {
    const folder = join(this.#root, String(this.#opened.length));
    mkdirSync(folder);
    const left = this.#folder && join(this.#folder, DATA_FILE);
    if (left !== undefined && existsSync(left)) copyFileSync(left, join(folder, DATA_FILE));
    this.#folder = folder;
    const database = this.#openIn(folder);
    this.#opened.push(database);
    return database;
  }

  async remove(): Promise<void> {
    for (const database of this.#opened.splice(0)) await database.close();
    rmSync(this.#root, { recursive: true, force: true });
  }
}
