import { createSenderCache, initSnapshot } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import { hashHeader } from "@rnode/protocol";
import type { ChainDatabase, GenesisRows, SnapshotRows } from "@rnode/storage";
import { falseContent } from "../errors.ts";
import type { BlockRecord } from "../format/block-records.ts";
import type { Manifest } from "../format/manifest.ts";

/** The state after a block and the last blocks up to it, of which everything was checked: a `LoadedSnapshot`, or from elsewhere. */
export interface CheckedState {
  readonly manifest: Pick<Manifest, "genesis" | "header" | "hash" | "oldestBlock">;
  /** in ascending order */
  blocks(): Iterable<BlockRecord>;
  rowsInto(rows: GenesisRows): Iterable<unknown>;
}

/**
 * Writes a checked state into an empty database, in as many commits as necessary; the last one makes it valid. After a kill before
 * that, the database has no chain, and the restore can be repeated.
 *
 * @returns whether rows of an interrupted attempt were removed first
 * @throws {CodedError} storage/not-empty, storage/disk-full, storage/io; snapshot/false-content: a transaction has no sender
 */
export function restoreSnapshot(
  store: Pick<ChainDatabase, "writeSnapshot" | "writeMeta">,
  snapshot: CheckedState,
  onProgress: (rows: number) => void = () => {},
): boolean {
  const { genesis, header, hash, oldestBlock } = snapshot.manifest;
  const head = { number: header.number, hash: bytesToHex(hash) };
  return initSnapshot(store, { genesis, head, oldestBlock }, (rows) => allRows(snapshot, rows, onProgress));
}

function* allRows(snapshot: CheckedState, rows: SnapshotRows, onProgress: (rows: number) => void): Generator<unknown> {
  const senders = createSenderCache();
  for (const { block, receipts } of snapshot.blocks()) {
    const recovered = senders.sendersOf(block.transactions, false);
    if (recovered.kind === "unrecoverable") {
      throw falseContent(`block ${block.header.number}: transaction ${recovered.index} has no sender: ${recovered.reason}`);
    }
    yield rows.block({ block, hash: hashHeader(block.header), receipts, senders: recovered.senders });
  }
  let written = 0;
  for (const step of snapshot.rowsInto(rows)) {
    written++;
    if (written % 10_000 === 0) onProgress(written);
    yield step;
  }
}
