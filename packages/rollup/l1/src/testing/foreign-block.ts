import { bytesToHex, encodeRlp, type Hex, hexToBytes, keccak256, type RlpItem, rlpUint, toQuantity } from "@rnode/primitives";
import { encodeReceipt, encodeTransaction, headerToRlp, type Log, logsBloom, mergeBlooms } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { type BlockFixture, blockFixture } from "./block-json.ts";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);

/**
 * The form of a receipt of an unknown transaction type: "usual" has the four usual fields, "more" has one more after them, and
 * "nested" has its logs in a list for each part of the transaction.
 */
export type ReceiptForm = "usual" | "more" | "nested";

export interface ForeignBlockOptions {
  readonly number: number;
  /** for each transaction a type that is not known, or undefined for one that is */
  readonly types: readonly (number | undefined)[];
  readonly receiptForm?: ReceiptForm | undefined;
  /** fields at the end of the header, by their name in JSON */
  readonly headerFields?: Readonly<Record<string, Hex>> | undefined;
  /** the receipts of known types have one more field as well */
  readonly allReceiptsHaveMore?: boolean | undefined;
  /** of the header; default: differs from the receipts */
  readonly gasUsed?: bigint | undefined;
  /** logs of each transaction, by its index */
  readonly logs?: ((index: number) => readonly Log[]) | undefined;
}

/** A block with bytes that its JSON does not determine. */
export interface ForeignBlock extends BlockFixture {
  readonly rawHeader: Hex;
  readonly rawBlock: Hex;
  readonly rawTransactions: readonly Hex[];
  readonly transactionHashes: readonly Hex[];
  readonly logs: readonly (readonly Log[])[];
}

/** A block of an L1 that is newer than this version, with correct roots. */
export function foreignBlock(options: ForeignBlockOptions): ForeignBlock {
  const { number, types, receiptForm = "usual", headerFields = {}, allReceiptsHaveMore = false } = options;
  const plain = blockFixture(number, types.length);
  const logs = types.map((_, index) => options.logs?.(index) ?? plain.receipts[index]!.logs);
  const encoded = types.map((type, index) =>
    type === undefined
      ? encodeTransaction(plain.transactions[index]!)
      : Uint8Array.of(type, ...encodeRlp([filled(3, index), [filled(40, 7)]])),
  );
  const receipts = types.map((type, index) => {
    const known = { ...plain.receipts[index]!, bloom: logsBloom(logs[index]!), logs: logs[index]! };
    const usual = encodeReceipt(known).subarray(1);
    if (type === undefined) return allReceiptsHaveMore ? withMore(0x02, known) : encodeReceipt(known);
    if (receiptForm === "usual") return Uint8Array.of(type, ...usual);
    if (receiptForm === "more") return withMore(type, known);
    const parts = logs[index]!.map((log) => [rlpUint(1), rlpUint(21_000), [logToRlp(log)]]);
    return Uint8Array.of(type, ...encodeRlp([rlpUint(known.cumulativeGasUsed), filled(20, 0x77), parts]));
  });
  const header = {
    ...plain.header,
    transactionsRoot: orderedTrieRoot(encoded),
    receiptsRoot: orderedTrieRoot(receipts),
    logsBloom: mergeBlooms(logs.map(logsBloom)),
    gasUsed: options.gasUsed ?? 29_999_999n, // since EIP-7778 not the sum over the receipts
    blockAccessListHash: filled(32, 0x0b),
    slotNumber: BigInt(number) + 1_000n,
  };
  const headerItems = [...headerToRlp(header), ...Object.values(headerFields).map((field) => hexToBytes(field))];
  const rawHeader = encodeRlp(headerItems);
  const hash = bytesToHex(keccak256(rawHeader));
  const hashes = encoded.map((bytes) => bytesToHex(keccak256(bytes)));
  const place = (index: number) => ({ blockHash: hash, blockNumber: toQuantity(number), transactionIndex: toQuantity(index) });
  const json = {
    ...plain.json,
    hash,
    transactionsRoot: bytesToHex(header.transactionsRoot),
    receiptsRoot: bytesToHex(header.receiptsRoot),
    logsBloom: bytesToHex(header.logsBloom),
    gasUsed: toQuantity(header.gasUsed),
    blockAccessListHash: bytesToHex(header.blockAccessListHash),
    slotNumber: toQuantity(header.slotNumber),
    ...headerFields,
    withdrawals: [{ index: "0x1", amount: "0x1", somethingNew: "0x2" }],
    transactions: hashes,
  };
  const known = plain.fullJson.transactions as readonly object[];
  const fullTransactions = types.map((type, index) => ({
    ...(type === undefined ? known[index] : { type: toQuantity(type), frames: [{ mode: "0x1" }] }),
    hash: hashes[index],
    ...place(index),
  }));
  let logIndex = 0;
  const receiptsJson = types.map((type, index) => ({
    ...plain.receiptsJson[index],
    ...(type !== undefined && { type: toQuantity(type) }),
    ...(type !== undefined &&
      receiptForm === "nested" && { logsBloom: undefined, status: undefined, payer: bytesToHex(filled(20, 0x77)) }),
    ...(((type !== undefined && receiptForm === "more") || allReceiptsHaveMore) && { somethingNew: "0x1" }),
    transactionHash: hashes[index],
    ...place(index),
    ...(receiptForm === "nested" && type !== undefined ? {} : { logsBloom: bytesToHex(logsBloom(logs[index]!)) }),
    logs: logs[index]!.map(({ address, topics, data }) => ({
      address: bytesToHex(address),
      topics: topics.map(bytesToHex),
      data: bytesToHex(data),
      removed: false,
      transactionHash: hashes[index],
      ...place(index),
      logIndex: toQuantity(logIndex++),
    })),
  }));
  const items: RlpItem[] = types.map((type, index) => (type === undefined && encoded[index]![0]! >= 0xc0 ? [] : encoded[index]!));
  return {
    ...plain,
    hash,
    header,
    json,
    fullJson: { ...json, transactions: fullTransactions },
    receiptsJson,
    rawReceipts: receipts.map(bytesToHex),
    rawHeader: bytesToHex(rawHeader),
    rawBlock: bytesToHex(encodeRlp([headerItems, items, [], [[rlpUint(1), rlpUint(2)]], filled(3, 1)])),
    rawTransactions: encoded.map(bytesToHex),
    transactionHashes: hashes,
    logs,
  };
}

function withMore(type: number, receipt: Parameters<typeof encodeReceipt>[0]): Uint8Array {
  const { status, cumulativeGasUsed, bloom, logs } = receipt;
  return Uint8Array.of(
    type,
    ...encodeRlp([rlpUint(status ?? 0), rlpUint(cumulativeGasUsed), bloom, logs.map(logToRlp), rlpUint(1), [filled(2, 2)]]),
  );
}

const logToRlp = ({ address, topics, data }: Log): RlpItem => [address, topics, data];
