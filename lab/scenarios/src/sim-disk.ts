import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import type { Hex } from "@rnode/primitives";
import { SafeHeadDatabase } from "@rnode/rnode";
import { scratchFolder } from "./scratch.ts";

const DATA_FILE = "data.mdb";

/** The folder of a node for its safe-head database, which outlives the node. */
export class SimDisk {
  readonly #root = scratchFolder("rnode-scenario-");
  readonly #opened: SafeHeadDatabase[] = [];
  #folder: string | undefined;

  /** The database of the previous process: a killed process has written its commits, and nothing afterwards. */
  open(genesis: Hex): SafeHeadDatabase {
    const folder = join(this.#root, String(this.#opened.length));
    mkdirSync(folder);
    const left = this.#folder && join(this.#folder, DATA_FILE);
    if (left !== undefined && existsSync(left)) copyFileSync(left, join(folder, DATA_FILE));
    this.#folder = folder;
    const database = SafeHeadDatabase.open(folder, genesis, silentLogger);
    this.#opened.push(database);
    return database;
  }

  async remove(): Promise<void> {
    for (const database of this.#opened.splice(0)) await database.close();
    rmSync(this.#root, { recursive: true, force: true });
  }
}
