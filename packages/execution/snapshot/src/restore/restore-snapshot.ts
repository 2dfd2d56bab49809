import { createSenderCache, initSnapshot } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import { hashHeader } from "@rnode/protocol";
import type { ChainDatabase, GenesisRows, SnapshotRows, StateRun, StateWrite } from "@rnode/storage";
import { falseContent } from "../errors.ts";
import type { BlockRecord } from "../format/block-records.ts";
import type { Manifest } from "../format/manifest.ts";

/** The state after a block and the last blocks up to it, of which everything was checked: a `LoadedSnapshot`, or from elsewhere. */
export interface CheckedState {
  readonly manifest: Pick<Manifest, "genesis" | "header" | "hash" | "oldestBlock">;
  /** false: the blocks have empty lists of receipts. Default: true */
  readonly hasReceipts?: boolean | undefined;
  /** in ascending order */
  blocks(): Iterable<BlockRecord>;
  readonly state: StateWrite<GenesisRows>;
}

/**
 * Writes a checked state into an empty database, in as many commits as necessary; the last one makes it valid. After a kill before
 * that, the database has no chain, and the restore can be repeated; a `StateRun` then continues.
 *
 * @returns whether rows of an interrupted attempt were removed first
 * @throws {CodedError} storage/not-empty, storage/disk-full, storage/io; snapshot/false-content: a transaction has no sender
 */
export function restoreSnapshot(store: SnapshotStore, snapshot: CheckedState, onProgress?: (rows: number) => void): boolean {
  const commits = restoreCommits(store, snapshot, onProgress);
  for (;;) {
    const step = commits.next();
    if (step.done === true) return step.value;
  }
}

type SnapshotStore = Pick<ChainDatabase, "snapshotCommits" | "writeMeta">;

/** The same, which yields between two commits, for a process that does other work meanwhile. */
export function* restoreCommits(
  store: SnapshotStore,
  snapshot: CheckedState,
  onProgress: (rows: number) => void = () => {},
): Generator<void, boolean> {
  const { genesis, header, hash, oldestBlock } = snapshot.manifest;
  const head = { number: header.number, hash: bytesToHex(hash) };
  const base = { genesis, head, oldestBlock, hasReceipts: snapshot.hasReceipts };
  return yield* initSnapshot(store, base, writeOf(snapshot, onProgress));
}

function writeOf(snapshot: CheckedState, onProgress: (rows: number) => void): StateWrite<SnapshotRows> {
  const { state } = snapshot;
  if (typeof state !== "function") return afterBlocks(snapshot, state);
  return function* (rows) {
    yield* allBlocks(snapshot, rows);
    let written = 0;
    for (const step of state(rows)) {
      written++;
      if (written % 10_000 === 0) onProgress(written);
      yield step;
    }
  };
}

/** A run that has nothing to continue before all blocks are written, and does not write them again. */
function afterBlocks(snapshot: CheckedState, state: StateRun<GenesisRows>): StateRun<SnapshotRows> {
  return {
    id: state.id,
    *steps(rows, progress) {
      if (progress === undefined) yield* allBlocks(snapshot, rows);
      yield* state.steps(rows, progress);
    },
    progress: () => state.progress(),
  };
}

function* allBlocks(snapshot: CheckedState, rows: SnapshotRows): Generator<unknown> {
  const senders = createSenderCache();
  for (const { block, receipts } of snapshot.blocks()) {
    const recovered = senders.sendersOf(block.transactions, false);
    if (recovered.kind === "unrecoverable") {
      throw falseContent(`block ${block.header.number}: transaction ${recovered.index} has no sender: ${recovered.reason}`);
    }
    yield rows.block({ block, hash: hashHeader(block.header), receipts, senders: recovered.senders });
  }
}
