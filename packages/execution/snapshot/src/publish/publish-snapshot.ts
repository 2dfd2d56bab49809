import { createHash, type KeyObject } from "node:crypto";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { createSnapshot, type SnapshotMade, type SnapshotRequest, type SnapshotSource } from "../create/create-snapshot.ts";
import { snapshotError } from "../errors.ts";
import {
  decodeIndex,
  encodeIndex,
  INDEX_NAME,
  type IndexEntry,
  isSnapshotName,
  publicKeyOf,
  type ReadIndex,
  snapshotName,
} from "./snapshot-index.ts";
import type { SnapshotStore } from "./snapshot-store.ts";

export interface Publication {
  readonly request: SnapshotRequest;
  /** ed25519, signs the index; `undefined`: the index has no signature */
  readonly key: KeyObject | undefined;
  /** number of snapshots that the index names; `undefined`: all */
  readonly keep: number | undefined;
  /** for the entry of the index */
  readonly nowUnixMs: number;
  /** ends it; nothing remains of the snapshot, and the reason is thrown */
  readonly signal?: AbortSignal | undefined;
}

export type Published =
  | { readonly kind: "made"; readonly made: SnapshotMade; readonly entry: IndexEntry; readonly removed: readonly string[] }
  /** The store has this block's. */
  | { readonly kind: "present"; readonly entry: IndexEntry };

/**
 * Creates a snapshot in a store and names it in the index. Snapshots beyond `keep` leave the index now, and the store with the next
 * snapshot, so that a node that downloads one can finish. Files of an interrupted run are removed with them.
 *
 * @throws {CodedError} snapshot/no-such-state, storage/state-gone; snapshot/bad-index: the present index is of another chain or signer; errors of the store
 */
export async function publishSnapshot(
  source: SnapshotSource,
  store: SnapshotStore,
  { request, key, keep, nowUnixMs, signal }: Publication,
): Promise<Published> {
  const { chainId } = request.config;
  const before = await presentIndex(store, request, key);
  const { number, hash } = blockOf(source, request.blockNumber);
  const present = before?.snapshots.find((entry) => entry.hash === hash);
  if (present !== undefined) return { kind: "present", entry: present };

  const name = snapshotName(chainId, number, hash);
  const digest = createHash("sha256");
  const upload = await store.create(name);
  let made: SnapshotMade;
  try {
    made = await createSnapshot(source, { ...request, blockNumber: number }, async (bytes) => {
      signal?.throwIfAborted();
      digest.update(bytes);
      await upload.write(bytes);
    });
    if (made.block.hash !== hash) throw snapshotError("snapshot/no-such-state", { number, reason: "it left the chain meanwhile" });
    await upload.finish();
  } catch (error) {
    await upload.abort().catch(() => {}); // the first error counts
    throw error;
  }
  const entry: IndexEntry = {
    name,
    bytes: made.fileBytes,
    sha256: bytesToHex(digest.digest()),
    number,
    hash,
    stateRoot: bytesToHex(made.stateRoot),
    created: new Date(nowUnixMs).toISOString(),
  };
  const earlier = before?.snapshots ?? [];
  const snapshots = [entry, ...earlier].sort((a, b) => b.number - a.number).slice(0, keep);
  await store.write(INDEX_NAME, encodeIndex({ chainId, genesisHash: bytesToHex(request.genesisHash), snapshots }, key));
  const named = new Set([...snapshots, ...earlier].map((each) => each.name));
  const removed = (await store.list()).filter((each) => isSnapshotName(each, chainId) && !named.has(each));
  for (const each of removed) await store.remove(each);
  return { kind: "made", made, entry, removed };
}

/** An index by another signer could name false snapshots, which this run would then sign. */
async function presentIndex(
  store: SnapshotStore,
  { config, genesisHash }: SnapshotRequest,
  key: KeyObject | undefined,
): Promise<ReadIndex | undefined> {
  const bytes = await store.read(INDEX_NAME);
  if (bytes === undefined) return undefined;
  const place = `${INDEX_NAME} of ${store.place}`;
  const index = decodeIndex(bytes, place, key && publicKeyOf(key));
  const fail = (reason: string): never => {
    throw snapshotError("snapshot/bad-index", { place, reason });
  };
  if (key === undefined && index.publicKey !== undefined)
    return fail(`it is signed with the key ${bytesToHex(index.publicKey)}, and no key was given to sign the next one`);
  if (index.chainId !== config.chainId || index.genesisHash !== bytesToHex(genesisHash))
    return fail(`it is of chain ${index.chainId}, give each chain a place of its own`);
  return index;
}

function blockOf(source: SnapshotSource, wanted: number | undefined): { readonly number: number; readonly hash: Hex } {
  source.refresh();
  const head = source.head();
  const number = wanted ?? source.label("finalized")?.number ?? head?.number ?? 0;
  const hash = head === undefined || number > head.number ? undefined : source.readCanonicalHash(number);
  if (hash === undefined)
    throw snapshotError("snapshot/no-such-state", {
      number,
      reason: head ? `the head is block ${head.number}` : "the database is empty",
    });
  return { number, hash: bytesToHex(hash) };
}
