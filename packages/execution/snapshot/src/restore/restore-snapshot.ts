import { createSenderCache, initSnapshot } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import { hashHeader } from "@rnode/protocol";
import type { ChainDatabase, SnapshotRows } from "@rnode/storage";
import { falseContent } from "../errors.ts";
import type { LoadedSnapshot } from "../read/load-snapshot.ts";

/**
 * Writes a snapshot into an empty database, in as many commits as necessary; the last one makes it valid. After a kill before
 * that, the database has no chain, and the restore can be repeated.
 *
 * @returns whether rows of an interrupted attempt were removed first
 * @throws {CodedError} storage/not-empty, storage/disk-full, storage/io; snapshot/false-content: a transaction has no sender
 */
export function restoreSnapshot(
  store: Pick<ChainDatabase, "writeSnapshot" | "writeMeta">,
  snapshot: LoadedSnapshot,
  onProgress: (rows: number) => void = () => {},
): boolean {
  const { genesis, header, hash, oldestBlock } = snapshot.manifest;
  const head = { number: header.number, hash: bytesToHex(hash) };
  return initSnapshot(store, { genesis, head, oldestBlock }, (rows) => allRows(snapshot, rows, onProgress));
}

function* allRows(snapshot: LoadedSnapshot, rows: SnapshotRows, onProgress: (rows: number) => void): Generator<unknown> {
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
