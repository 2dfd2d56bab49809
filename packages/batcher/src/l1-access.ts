import { type RpcClient, RpcError } from "@rnode/jsonrpc";
import { type SendVerdict, sendVerdictOf } from "@rnode/l1";
import { bytesToHex, CodedError, type Hex, parseQuantity, toQuantity } from "@rnode/primitives";
import {
  hashHeader,
  headerFromRpc,
  jsonHash,
  jsonObject,
  jsonQuantityNumber,
  type L1BlockRef,
  optionalField,
  requiredField,
} from "@rnode/protocol";
import { BatcherError } from "./batcher-error.ts";
import type { FeeMarket } from "./tx-fees.ts";

export interface Inclusion {
  readonly blockNumber: number;
  readonly blockHash: Hex;
}

/** What the batcher asks of L1. Every method rejects when there is no answer. */
export interface L1Access {
  chainId(): Promise<bigint>;
  head(): Promise<L1BlockRef>;
  /** number of transactions of an account, up to a block or with those in the pool */
  nonce(address: Uint8Array, block: "latest" | "pending" | number): Promise<bigint>;
  balance(address: Uint8Array): Promise<bigint>;
  feeMarket(asked: { readonly withBlobs: boolean }): Promise<FeeMarket>;
  /** What the client says of the transaction; never rejects because of the transaction itself. */
  send(rawTransaction: Uint8Array): Promise<{ readonly verdict: SendVerdict; readonly message: string }>;
  /** undefined: not in the canonical chain */
  inclusion(transactionHash: Hex): Promise<Inclusion | undefined>;
}

const METHOD_NOT_FOUND = -32601;

export class RpcL1Access implements L1Access {
  readonly #rpc: RpcClient;

  constructor(rpc: RpcClient) {
    this.#rpc = rpc;
  }

  async chainId(): Promise<bigint> {
    return this.#quantity("eth_chainId", []);
  }

  async head(): Promise<L1BlockRef> {
    const { number, parentHash, timestamp, hash } = await this.#latestHeader();
    return { number, parentHash: bytesToHex(parentHash), timestamp, hash: bytesToHex(hash) };
  }

  async #latestHeader() {
    const method = "eth_getBlockByNumber";
    const json = await this.#rpc.call(method, ["latest", false]);
    const header = readAnswer(method, () => headerFromRpc(json));
    return { ...header, hash: hashHeader(header) };
  }

  nonce(address: Uint8Array, block: "latest" | "pending" | number): Promise<bigint> {
    return this.#quantity("eth_getTransactionCount", [bytesToHex(address), typeof block === "number" ? toQuantity(block) : block]);
  }

  balance(address: Uint8Array): Promise<bigint> {
    return this.#quantity("eth_getBalance", [bytesToHex(address), "latest"]);
  }

  async feeMarket({ withBlobs }: { readonly withBlobs: boolean }): Promise<FeeMarket> {
    const [{ baseFeePerGas }, tip, blobBaseFee] = await Promise.all([
      this.#latestHeader(),
      this.#suggestedTip(),
      withBlobs ? this.#quantity("eth_blobBaseFee", []) : undefined,
    ]);
    return { tip, baseFee: baseFeePerGas ?? 0n, blobBaseFee };
  }

  /** 0 where the client does not know the method: the configured minimum applies then. */
  async #suggestedTip(): Promise<bigint> {
    try {
      return await this.#quantity("eth_maxPriorityFeePerGas", []);
    } catch (error) {
      if (error instanceof RpcError && error.code === METHOD_NOT_FOUND) return 0n;
      throw error;
    }
  }

  async send(rawTransaction: Uint8Array): Promise<{ verdict: SendVerdict; message: string }> {
    try {
      await this.#rpc.call("eth_sendRawTransaction", [bytesToHex(rawTransaction)]);
      return { verdict: "accepted", message: "" };
    } catch (error) {
      if (error instanceof RpcError) return { verdict: sendVerdictOf(error.message), message: error.message };
      throw error;
    }
  }

  async inclusion(transactionHash: Hex): Promise<Inclusion | undefined> {
    const method = "eth_getTransactionReceipt";
    const json = await this.#rpc.call(method, [transactionHash]);
    if (json === null) return undefined;
    return readAnswer(method, () => {
      const receipt = jsonObject(json, "receipt");
      const blockHash = optionalField(receipt, "receipt", "blockHash", jsonHash);
      if (blockHash === undefined) return undefined; // in the pool
      return {
        blockNumber: requiredField(receipt, "receipt", "blockNumber", jsonQuantityNumber),
        blockHash: bytesToHex(blockHash),
      };
    });
  }

  async #quantity(method: string, params: readonly unknown[]): Promise<bigint> {
    const answer = await this.#rpc.call(method, params);
    return readAnswer(method, () => parseQuantity(String(answer)));
  }
}

/** @throws {BatcherError} batcher/bad-answer */
export function readAnswer<T>(method: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof CodedError) throw new BatcherError("batcher/bad-answer", { method, reason: cause.message }, { cause });
    throw cause;
  }
}
