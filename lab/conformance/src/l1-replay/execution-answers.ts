import { METHOD_NOT_FOUND, RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import { type BlockEntry, type JsonObject, type L1Store, numberOf, rawHeaderOf } from "./l1-store.ts";

/** Answers calls of `eth_` methods. @throws {RpcError} */
export type ExecutionAnswers = (method: string, params: readonly unknown[]) => unknown;

export interface HeadPosition {
  /** the newest block that L1 has by now */
  readonly head: () => BlockEntry;
  /** how many blocks `safe` and `finalized` are behind */
  readonly finalityBlocks: number;
}

/** Answers as an execution client that has the blocks of a store up to the head. */
export function executionAnswers(store: L1Store, { head, finalityBlocks }: HeadPosition): ExecutionAnswers {
  const known = (entry: BlockEntry | undefined): BlockEntry | undefined =>
    entry !== undefined && entry.number <= head().number ? entry : undefined;
  const find = (id: unknown): BlockEntry | undefined => {
    if (id === "latest" || id === "pending") return head();
    if (id === "earliest") return store.first;
    if (id === "safe" || id === "finalized") return store.byNumber(head().number - finalityBlocks);
    if (typeof id === "object" && id !== null) {
      const { blockHash, blockNumber } = id as { blockHash?: unknown; blockNumber?: unknown };
      return find(blockHash ?? blockNumber);
    }
    if (typeof id === "string" && id.length === 66) return known(store.byHash(id));
    const number = numberOf(id);
    return number === undefined ? undefined : known(store.byNumber(number));
  };
  const block = (id: unknown, full: unknown): unknown => {
    const entry = find(id);
    if (entry === undefined) return null;
    const loaded = store.load(entry).block;
    return full === true ? loaded : { ...loaded, transactions: entry.transactionHashes };
  };
  const ofTransaction = (hash: unknown, list: (entry: BlockEntry) => readonly JsonObject[]): unknown => {
    const entry = known(store.withTransaction(String(hash)));
    return entry === undefined ? null : list(entry)[entry.transactionHashes.indexOf(String(hash).toLowerCase() as Hex)];
  };

  return (method, [first, second]) => {
    switch (method) {
      case "eth_chainId":
        return toQuantity(store.chain.chainId);
      case "net_version":
        return String(store.chain.chainId);
      case "web3_clientVersion":
        return "recorded-l1/v1";
      case "eth_syncing":
        return false;
      case "eth_blockNumber":
        return toQuantity(head().number);
      case "eth_getBlockByNumber":
      case "eth_getBlockByHash":
        return block(first, second);
      case "eth_getBlockReceipts": {
        const entry = find(first);
        return entry === undefined ? null : store.load(entry).receipts;
      }
      case "debug_getRawHeader":
      case "debug_getRawBlock":
      case "debug_getRawReceipts": {
        const entry = find(first);
        const raw = entry && store.load(entry).raw;
        if (raw === undefined)
          throw new RpcError(METHOD_NOT_FOUND, `the method ${method} does not exist: these bytes are not recorded`);
        if (method === "debug_getRawReceipts") return raw.receipts;
        return method === "debug_getRawBlock" ? raw.block : bytesToHex(rawHeaderOf(raw.block));
      }
      case "eth_getTransactionReceipt":
        return ofTransaction(first, (entry) => store.load(entry).receipts);
      case "eth_getTransactionByHash":
        return ofTransaction(first, (entry) => store.load(entry).block.transactions as readonly JsonObject[]);
      default: {
        const isState = /^eth_(get(Balance|Code|StorageAt|Proof|TransactionCount)|call)$/.test(method);
        if (isState)
          throw new RpcError(SERVER_ERROR, `${method}: the state of L1 is not recorded, only blocks, receipts and blobs are`);
        throw new RpcError(METHOD_NOT_FOUND, `the method ${method} does not exist`);
      }
    }
  };
}
