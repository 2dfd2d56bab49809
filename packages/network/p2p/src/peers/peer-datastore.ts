import { renameSync, rmSync } from "node:fs";
import type { Logger } from "@rnode/observe";
import { CodedError } from "@rnode/primitives";
import { MemoryDatastore, NamespaceDatastore } from "datastore-core";
import { LevelDatastore } from "datastore-level";
import { type Datastore, Key } from "interface-datastore";

/**
 * peer-store/in-use: another process has the folder open. peer-store/damaged: it cannot be read (internal: a damaged store is
 * renamed)
 */
type PeerStoreErrorCode = "peer-store/in-use" | "peer-store/damaged";

export interface PeerDatastore {
  /** records under op-node's keys */
  readonly records: Datastore;
  /** for libp2p, whose keys would be mistaken for records and records for its keys */
  readonly libp2p: Datastore;
  close(): Promise<void>;
}

const LIBP2P_KEYS = new Key("/js-libp2p");

/**
 * Opens the peer store. `load` reads it: a store that cannot be opened or read is renamed to `<path>.damaged` with a warning, and
 * replaced by an empty one. If it cannot be on disk, it is in memory, with a warning.
 *
 * @param path a folder; `undefined`: memory
 * @throws {CodedError} peer-store/in-use
 */
export async function openPeerDatastore<T>(
  path: string | undefined,
  log: Logger,
  load: (records: Datastore) => Promise<T>,
): Promise<{ readonly store: PeerDatastore; readonly loaded: T }> {
  if (path === undefined) return inMemory(load);
  try {
    return await onDisk(path, load);
  } catch (error) {
    if (errorCodes(error).includes("LEVEL_LOCKED"))
      throw new CodedError<PeerStoreErrorCode>("peer-store/in-use", { path }, { cause: error });
    const aside = `${path}.damaged`;
    try {
      rmSync(aside, { recursive: true, force: true });
      renameSync(path, aside);
      log.warn("what was known of peers cannot be read: it was set aside, bans and blocks with it", { path, aside, error });
      return await onDisk(path, load);
    } catch (second) {
      log.warn("what is known of peers is kept in memory only: there is no way to keep it on disk", { path, error: second });
      return inMemory(load);
    }
  }
}

async function inMemory<T>(load: (records: Datastore) => Promise<T>) {
  const records = new MemoryDatastore();
  const store = { records, libp2p: new NamespaceDatastore(records, LIBP2P_KEYS), close: async () => {} };
  return { store, loaded: await load(records) };
}

async function onDisk<T>(path: string, load: (records: Datastore) => Promise<T>) {
  const records = new LevelDatastore(path);
  // LevelDatastore.open would convert the error to text, and lose its cause
  await records.db.open({ createIfMissing: true });
  try {
    const loaded = await load(records);
    const store = { records, libp2p: new NamespaceDatastore(records, LIBP2P_KEYS), close: () => records.close() };
    return { store, loaded };
  } catch (error) {
    await records.close();
    throw error;
  }
}

/** The codes of an error and of its causes. */
function errorCodes(error: unknown): unknown[] {
  const codes: unknown[] = [];
  for (let e: unknown = error; e instanceof Error && codes.length < 8; e = e.cause) codes.push((e as { code?: unknown }).code);
  return codes;
}
