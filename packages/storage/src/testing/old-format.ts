import { encodeRlp } from "@rnode/primitives";
import { encodeTransaction, headerToRlp, withdrawalToRlp } from "@rnode/protocol";
import { encodeReceiptsRow } from "../blocks/block-rows.ts";
import { blockNumberKey } from "../database/keys.ts";
import { openChainStore } from "../lmdb-chain-store.ts";
import { openRawTables } from "./raw-tables.ts";

/** Turns a database into one of format 2: rows of bodies and receipts as they were written then. */
export async function writeOldFormat(folder: string): Promise<void> {
  const store = openChainStore(folder, { readOnly: true });
  const rows: { key: Uint8Array; body: Uint8Array; receipts: Uint8Array | undefined }[] = [];
  const head = store.head()!.number;
  for (let number = store.retainedHistory()!.firstBlock; number <= head; number++) {
    const hash = store.readCanonicalHash(number)!;
    const { transactions, ommers, withdrawals } = store.readBlock(hash)!;
    const body = encodeRlp([
      transactions.map(encodeTransaction),
      ommers.map(headerToRlp),
      ...(withdrawals === undefined ? [] : [withdrawals.map(withdrawalToRlp)]),
    ]);
    const receipts = store.readReceipts(hash);
    rows.push({ key: blockNumberKey(number), body, receipts: receipts && encodeReceiptsRow(receipts).slice() });
  }
  await store.close();
  const { root, table } = openRawTables(folder);
  const [meta, bodies, receiptsTable] = [table("meta"), table("bodies"), table("receipts")];
  for (const { key, body, receipts } of rows) {
    bodies.putSync(key, body);
    if (receipts !== undefined) receiptsTable.putSync(key, receipts);
  }
  meta.putSync(Buffer.from("format"), Buffer.from("rnode\u0002"));
  meta.removeSync(Buffer.from("old-rows"));
  await root.close();
}
