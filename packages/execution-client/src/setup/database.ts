import { existsSync } from "node:fs";
import { join } from "node:path";
import { type CommandIo, UserError } from "@rnode/program";
import { type ChainDatabase, type ChainStoreOptions, describePageReading, openChainStore } from "@rnode/storage";

/** The chain's database within `--datadir`. */
export const databasePath = (datadir: string): string => join(datadir, "chaindata");

/** Opens the database for writing, and creates it if there is none. */
export function openDatabase(datadir: string, options: ChainStoreOptions = {}): ChainDatabase {
  return openChainStore(databasePath(datadir), options);
}

/** Opens a database that must already exist. @throws {UserError} */
export function openExistingDatabase(datadir: string, options: Pick<ChainStoreOptions, "readOnly" | "inOrder">): ChainDatabase {
  const path = databasePath(datadir);
  if (!existsSync(path)) throw new UserError(`${datadir}: holds no chain database (rengine init makes one)`);
  return openChainStore(path, options);
}

/** Reports how pages are read, for a file large enough that it makes a difference. */
export function sayPageReading({ pageReading }: ChainDatabase, io: CommandIo): void {
  if (pageReading.because !== "file is small") io.err(describePageReading(pageReading));
}
