import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isCodedError, isSystemError } from "@rnode/primitives";
import { type CommandIo, UserError } from "@rnode/program";
import { type ChainDatabase, type ChainStoreOptions, describePageReading, openChainStore } from "@rnode/storage";

/** The chain's database within `--datadir`. */
export const databasePath = (datadir: string): string => join(datadir, "chaindata");

/** A complete database within `--datadir` that takes the place of the present one when that is opened for writing. */
export const finishedDatabasePath = (datadir: string): string => join(datadir, "chaindata.new");

/** A kill between the two steps leaves the second for the next start. */
function takeFinished(datadir: string): void {
  const finished = finishedDatabasePath(datadir);
  if (!existsSync(finished)) return;
  rmSync(databasePath(datadir), { recursive: true, force: true });
  renameSync(finished, databasePath(datadir));
}

/** Opens the database for writing, and creates it if there is none. @throws {UserError} the folder cannot be made or written */
export function openDatabase(datadir: string, options: ChainStoreOptions = {}): ChainDatabase {
  try {
    takeFinished(datadir);
    return openChainStore(databasePath(datadir), options);
  } catch (error) {
    const reason = isCodedError(error, "storage/io") ? error.data.reason : isSystemError(error) ? error.message : undefined;
    if (reason === undefined) throw error;
    throw new UserError(`--datadir ${datadir}: ${String(reason)}; name a folder that can be made and written`, { cause: error });
  }
}

/** Opens a database that must already exist. @throws {UserError} */
export function openExistingDatabase(
  datadir: string,
  options: Pick<ChainStoreOptions, "readOnly" | "inOrder" | "proofWindowBlocks">,
): ChainDatabase {
  const path = databasePath(datadir);
  if (!existsSync(path)) throw new UserError(`${datadir}: holds no chain database (rengine init makes one)`);
  return openChainStore(path, options);
}

/** Reports how pages are read, for a file large enough that it makes a difference. */
export function sayPageReading({ pageReading }: ChainDatabase, io: CommandIo): void {
  if (pageReading.because !== "file is small") io.err(describePageReading(pageReading));
}
