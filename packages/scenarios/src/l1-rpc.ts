import { blockToJson, PROFILE_G, receiptsToJson } from "@rnode/eth-api";
import { RpcError } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes, parseQuantityNumber, toQuantity } from "@rnode/primitives";
import {
  decodeBlobTransactionWithSidecar,
  decodeTransaction,
  EVM_FORKS,
  forkRules,
  hashTransaction,
  type Transaction,
} from "@rnode/protocol";
import type { L1Block, L1Transaction, SimL1 } from "./sim-l1.ts";

export interface L1ServerDeps {
  readonly l1: SimL1;
  readonly chainId: bigint;
  /** when a transaction that is sent now may be in a block at the earliest; undefined: it is lost although it was accepted */
  readonly earliestInclusionMs: () => number | undefined;
  readonly onSubmitted: (text: string) => void;
}

const SERVER_ERROR = -32000;
const L1_RULES = { ...forkRules(EVM_FORKS.at(-1)!), chainId: 0n, blobParams: undefined, isDaoForkBlock: false };
const PLENTY_WEI = 10n ** 24n;

/** Answers as an L1 endpoint. @param headNumber the newest block that it has */
export type L1Server = (method: string, params: readonly unknown[], headNumber: number) => unknown;

/** What L1 endpoints answer. */
export function l1Server({ l1, chainId, earliestInclusionMs, onSubmitted }: L1ServerDeps): L1Server {
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
    return cached(json, key, () => blockToJson(PROFILE_G, block.stored, { full: full === true, totalDifficulty: undefined }));
  };
  const receiptsOf = (block: L1Block): readonly unknown[] =>
    cached(receiptsJson, block.ref.hash, () => receiptsToJson(PROFILE_G, L1_RULES, block.stored));
  const byLabel = (label: string, headNumber: number): L1Block | undefined => {
    const head = Math.min(headNumber, l1.head.ref.number);
    if (label === "latest" || label === "pending") return l1.blocks[head];
    if (label === "safe") return l1.blocks[Math.min(head, l1.safe.ref.number)];
    if (label === "finalized") return l1.blocks[Math.min(head, l1.finalized.ref.number)];
    return l1.blocks[parseQuantityNumber(label)];
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
        throw new RpcError(-32601, `the method ${method} does not exist`);
    }
  };
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
