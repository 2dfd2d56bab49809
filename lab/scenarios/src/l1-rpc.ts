import { blockToJson, PROFILE_G, receiptsToJson } from "@rnode/eth-api";
import { RpcError } from "@rnode/jsonrpc";
import {
  bytesToHex,
  decodeRlp,
  encodeRlp,
  type Hex,
  hexToBytes,
  parseQuantityNumber,
  type RlpItem,
  toQuantity,
} from "@rnode/primitives";
import {
  decodeBlobTransactionWithSidecar,
  decodeTransaction,
  EVM_FORKS,
  forkRules,
  hashTransaction,
  type Transaction,
} from "@rnode/protocol";
import type { L1Transaction } from "./l1-rules.ts";
import { type L1Block, type SimL1, unknownField } from "./sim-l1.ts";
import { UNKNOWN_TYPE } from "./unknown-transaction.ts";

export interface L1ServerDeps {
  readonly l1: SimL1;
  readonly chainId: bigint;
  /** earliest inclusion time of a transaction sent now; `undefined`: it is lost although it was accepted */
  readonly earliestInclusionMs: () => number | undefined;
  readonly onSubmitted: (text: string) => void;
  /** whether it gives blocks, headers, receipts and transactions as bytes */
  readonly hasRawMethods: () => boolean;
}

const SERVER_ERROR = -32000;
const METHOD_NOT_FOUND = -32601;
const L1_RULES = { ...forkRules(EVM_FORKS.at(-1)!), chainId: 0n, blobParams: undefined, isDaoForkBlock: false };
const PLENTY_WEI = 10n ** 24n;

/** Answers as an L1 endpoint. @param headNumber the newest block that it has */
export type L1Server = (method: string, params: readonly unknown[], headNumber: number) => unknown;

/** The answers of L1 endpoints. */
export function l1Server({ l1, chainId, earliestInclusionMs, onSubmitted, hasRawMethods }: L1ServerDeps): L1Server {
  const json = new Map<Hex, unknown>();
  const receiptsJson = new Map<Hex, readonly unknown[]>();
  const cached = <T>(cache: Map<Hex, T>, key: Hex, make: () => T): T => {
    let value = cache.get(key);
    if (value === undefined) cache.set(key, (value = make()));
    return value;
  };
  const show = (block: L1Block | undefined, full: unknown, headNumber: number): unknown => {
    if (block === undefined || block.ref.number > headNumber) return null;
    const key = `${block.ref.hash}${full === true ? "f" : ""}` as Hex;
    return cached(json, key, () => blockJson(block, full === true));
  };
  const receiptsOf = (block: L1Block): readonly unknown[] => cached(receiptsJson, block.ref.hash, () => receiptsJsonOf(block));
  const byLabel = (label: string, headNumber: number): L1Block | undefined => {
    const head = Math.min(headNumber, l1.head.ref.number);
    if (label === "latest" || label === "pending") return l1.blocks[head];
    if (label === "safe") return l1.blocks[Math.min(head, l1.safe.ref.number)];
    if (label === "finalized") return l1.blocks[Math.min(head, l1.finalized.ref.number)];
    return l1.blocks[parseQuantityNumber(label)];
  };

  const blockOf = (id: unknown, headNumber: number): L1Block => {
    const block = String(id).length === 66 ? l1.byHash(id as Hex) : byLabel(String(id), headNumber);
    if (block === undefined || block.ref.number > headNumber) throw new RpcError(SERVER_ERROR, "block not found");
    return block;
  };
  const rawAnswer = (method: string, id: unknown, headNumber: number): unknown => {
    switch (method) {
      case "debug_getRawHeader":
        return bytesToHex(blockOf(id, headNumber).raw.header);
      case "debug_getRawBlock":
        return bytesToHex(rawBlock(blockOf(id, headNumber)));
      case "debug_getRawReceipts":
        return blockOf(id, headNumber).raw.receipts.map((encoded) => bytesToHex(encoded));
      case "debug_getRawTransaction":
      case "eth_getRawTransactionByHash": {
        const block = l1.inclusion(id as Hex);
        if (block === undefined || block.ref.number > headNumber) return "0x";
        return bytesToHex(block.raw.transactions[block.transactionHashes.indexOf(id as Hex)]!);
      }
      default:
        throw new RpcError(METHOD_NOT_FOUND, `the method ${method} does not exist/is not available`);
    }
  };

  return (method, [first, second], headNumber) => {
    switch (method) {
      case "eth_chainId":
        return toQuantity(chainId);
      case "eth_getBlockByNumber":
        return show(byLabel(String(first), headNumber), second, headNumber);
      case "eth_getBlockByHash":
        return show(l1.byHash(first as Hex), second, headNumber);
      case "eth_getBlockReceipts": {
        const block = l1.byHash(first as Hex);
        return block === undefined ? null : receiptsOf(block);
      }
      case "eth_getTransactionReceipt": {
        const block = l1.inclusion(first as Hex);
        if (block === undefined || block.ref.number > headNumber) return null;
        return receiptsOf(block)[block.transactionHashes.indexOf(first as Hex)] ?? null;
      }
      case "eth_getTransactionCount": {
        if (second === "pending") return toQuantity(l1.pendingNonce(first as Hex));
        return toQuantity(l1.nonceAt(first as Hex, byLabel(String(second), headNumber)?.ref.number ?? 0));
      }
      case "eth_getBalance":
        return toQuantity(PLENTY_WEI);
      case "eth_maxPriorityFeePerGas":
      case "eth_blobBaseFee":
        return toQuantity(10n ** 9n);
      case "eth_sendRawTransaction": {
        const raw = hexToBytes(String(first));
        const { tx, blobs } = decodeRaw(raw);
        const notBeforeMs = earliestInclusionMs();
        const verdict = notBeforeMs === undefined ? "accepted" : l1.submit(tx, notBeforeMs, blobs);
        onSubmitted(`transaction ${tx.nonce} of ${raw.length} bytes: ${notBeforeMs === undefined ? "lost" : verdict}`);
        if (verdict !== "accepted") throw new RpcError(SERVER_ERROR, verdict);
        return bytesToHex(hashTransaction(tx));
      }
      default:
        if (!hasRawMethods()) throw new RpcError(METHOD_NOT_FOUND, `the method ${method} does not exist/is not available`);
        return rawAnswer(method, first, headNumber);
    }
  };
}

function blockJson({ stored, ref, transactionHashes, entries, hasUnknownField }: L1Block, isFull: boolean): unknown {
  const block = blockToJson(PROFILE_G, stored, { full: isFull, totalDifficulty: undefined });
  const { header } = stored.block;
  const place = { blockHash: ref.hash, blockNumber: toQuantity(ref.number) };
  return {
    ...block,
    ...(hasUnknownField && { inclusionListRoot: bytesToHex(unknownField(header)) }),
    transactions: (block.transactions as unknown[]).map((known, i) => {
      if (entries[i]!.unknown === undefined) return known;
      if (!isFull) return transactionHashes[i];
      const { from, to, input, nonce, chainId } = known as Readonly<Record<string, unknown>>;
      const frames = [{ mode: "0x1", target: to, gas: "0x5208", input }];
      return {
        type: toQuantity(UNKNOWN_TYPE),
        hash: transactionHashes[i],
        ...place,
        transactionIndex: toQuantity(i),
        from,
        nonce,
        chainId,
        frames,
      };
    }),
  };
}

function receiptsJsonOf({ stored, entries, transactionHashes }: L1Block): readonly unknown[] {
  return receiptsToJson(PROFILE_G, L1_RULES, stored).map((receipt, i) => {
    const { unknown } = entries[i]!;
    if (unknown === undefined) return receipt;
    const { status, logsBloom, logs, ...others } = receipt;
    const transactionHash = transactionHashes[i];
    const ofForm = unknown === "known" ? { status, logsBloom } : { payer: `0x${"77".repeat(20)}`, frames: [{ status }] };
    return {
      ...others,
      ...ofForm,
      type: toQuantity(UNKNOWN_TYPE),
      transactionHash,
      logs: (logs as object[]).map((log) => ({ ...log, transactionHash })),
    };
  });
}

/** RLP: header, transactions (typed ones as strings), ommers, withdrawals */
function rawBlock({ raw }: L1Block): Uint8Array {
  const transactions = raw.transactions.map((encoded): RlpItem => (encoded[0]! >= 0xc0 ? decodeRlp(encoded) : encoded));
  return encodeRlp([decodeRlp(raw.header), transactions, [], []]);
}

function decodeRaw(raw: Uint8Array): { readonly tx: L1Transaction; readonly blobs: readonly Uint8Array[] } {
  if (raw[0] === 3) {
    const { transaction, sidecar } = decodeBlobTransactionWithSidecar(raw);
    return { tx: transaction, blobs: sidecar.blobs };
  }
  const tx: Transaction = decodeTransaction(raw);
  if (tx.type !== 2) throw new RpcError(SERVER_ERROR, "transaction type not supported");
  return { tx, blobs: [] };
}
