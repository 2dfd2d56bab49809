import { RpcError } from "@rnode/jsonrpc";
import { bytesToHex, equalBytes, type Hex, hexToBytes, isCodedError, parseQuantity, toQuantity } from "@rnode/primitives";
import {
  jsonHash,
  jsonObject,
  jsonQuantity256,
  jsonQuantityNumber,
  type L1BlockRef,
  type L1DataPricing,
  l1DataPricing,
  optionalField,
  requiredField,
  type Transaction,
} from "@rnode/protocol";
import type { L1Endpoints } from "./endpoints/endpoints.ts";
import { type SendVerdict, sendVerdictOf } from "./endpoints/send-verdict.ts";
import type { L1Client } from "./l1-client.ts";
import { faultyAnswer, L1Error, readAnswer } from "./l1-error.ts";
import { isUnsupportedMethodError } from "./receipts-fetcher.ts";
import type { VerifiedHeader } from "./verified/verified-header.ts";

/** The current fee levels of L1, in wei. */
export interface L1FeeMarket {
  /** suggested priority fee */
  readonly tip: bigint;
  /** of the newest block */
  readonly baseFee: bigint;
  /** of the newest block, per unit of blob gas; `undefined` if it was not requested */
  readonly blobBaseFee?: bigint | undefined;
  /** of the newest block */
  readonly dataPricing: L1DataPricing;
}

/** The block of the canonical chain that includes a transaction. */
export interface L1Inclusion {
  readonly blockNumber: number;
  readonly blockHash: Hex;
  /** the receipt's status is 0 */
  readonly isReverted?: boolean | undefined;
  /** total cost by the receipt, including blobs, in wei; `undefined` if the endpoint does not report it */
  readonly feeWei?: bigint | undefined;
}

/** A call to be executed. */
export interface L1Call {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  readonly data: Uint8Array;
  readonly value: bigint;
}

export interface L1AccountClientDeps {
  readonly endpoints: L1Endpoints;
  /** over the same endpoints */
  readonly l1: Pick<L1Client, "blockByLabel" | "blockByNumber" | "transactionHashes" | "transactions">;
}

/**
 * L1 for a sender of transactions. Values that a block proves are checked against the block: its base fee, and whether a
 * transaction is in it. Nonces, balances and the tip are not verified: a false value causes delays, and costs no more than the
 * fee limits allow.
 */
export class L1AccountClient {
  private readonly endpoints: L1Endpoints;
  private readonly l1: L1AccountClientDeps["l1"];

  constructor({ endpoints, l1 }: L1AccountClientDeps) {
    this.endpoints = endpoints;
    this.l1 = l1;
  }

  /** @throws {L1Error} l1/unavailable, like all methods here */
  head(): Promise<L1BlockRef> {
    return this.latestHeader();
  }

  /** The hash of a canonical block; undefined if L1 does not have it yet. */
  async blockHash(number: number): Promise<Hex | undefined> {
    return (await this.l1.blockByNumber(number))?.hash;
  }

  /** The transactions of a canonical block whose type is known, checked against it; undefined if L1 does not have it. */
  async transactionsAt(number: number): Promise<readonly Transaction[] | undefined> {
    const hash = await this.blockHash(number);
    const all = hash === undefined ? undefined : await this.l1.transactions(hash);
    return all?.filter((each) => each.type !== "unknown");
  }

  /** A contract's answer at the newest block; empty without a contract. It is not verified. */
  read(contract: Uint8Array, data: Uint8Array): Promise<Uint8Array> {
    return this.endpoints.request("answer of a contract", async ({ rpc }) => {
      const answer = await rpc.call("eth_call", [{ to: bytesToHex(contract), data: bytesToHex(data) }, "latest"]);
      return readAnswer("eth_call", () => hexToBytes(String(answer)));
    });
  }

  /** Number of transactions of an account, without ("latest") or with ("pending") the transactions in the pool. */
  nonce(address: Uint8Array, block: "latest" | "pending"): Promise<bigint> {
    return this.quantity("eth_getTransactionCount", [bytesToHex(address), block]);
  }

  /** The nonce after a block; undefined if no endpoint has the state of that block any more. */
  async nonceAt(address: Uint8Array, blockNumber: number): Promise<bigint | undefined> {
    return this.ofState("eth_getTransactionCount", address, blockNumber);
  }

  /**
   * The balance after a canonical block, and the time of the block; `undefined` if no endpoint has the state any more, or the
   * block yet.
   */
  async accountAfter(
    address: Uint8Array,
    blockNumber: number,
  ): Promise<{ readonly balanceWei: bigint; readonly timestampSec: number } | undefined> {
    const block = await this.l1.blockByNumber(blockNumber);
    const balanceWei = block && (await this.ofState("eth_getBalance", address, blockNumber));
    return balanceWei === undefined ? undefined : { balanceWei, timestampSec: block!.timestamp };
  }

  private async ofState(method: string, address: Uint8Array, blockNumber: number): Promise<bigint | undefined> {
    try {
      return await this.quantity(method, [bytesToHex(address), toQuantity(blockNumber)]);
    } catch (error) {
      if (isCodedError(error, "l1/unavailable") && error.cause instanceof RpcError) return undefined;
      throw error;
    }
  }

  /** The gas that a call takes at the newest block. @throws {RpcError} it fails there */
  estimateGas({ from, to, data, value }: L1Call): Promise<bigint> {
    const call = { from: bytesToHex(from), to: bytesToHex(to), data: bytesToHex(data), value: toQuantity(value) };
    return this.quantity("eth_estimateGas", [call]);
  }

  balance(address: Uint8Array): Promise<bigint> {
    return this.quantity("eth_getBalance", [bytesToHex(address), "latest"]);
  }

  async feeMarket({ withBlobs }: { readonly withBlobs: boolean }): Promise<L1FeeMarket> {
    const [{ baseFeePerGas: baseFee, header }, tip, blobBaseFee] = await Promise.all([
      this.latestHeader(),
      this.suggestedTip(),
      withBlobs ? this.quantity("eth_blobBaseFee", []) : undefined,
    ]);
    return { tip, baseFee, blobBaseFee, dataPricing: l1DataPricing(header) };
  }

  /** Sends a transaction to L1. A refusal of the transaction itself is a verdict, not an error. */
  send(rawTransaction: Uint8Array): Promise<{ readonly verdict: SendVerdict; readonly message: string }> {
    return this.endpoints.request("acceptance of a transaction", async ({ rpc }) => {
      try {
        await rpc.call("eth_sendRawTransaction", [bytesToHex(rawTransaction)]);
        return { verdict: "accepted", message: "" };
      } catch (error) {
        if (!(error instanceof RpcError) || isUnsupportedMethodError(error)) throw error;
        return { verdict: sendVerdictOf(error.message), message: error.message };
      }
    });
  }

  /** Where a transaction was included; undefined if it is not in the canonical chain. */
  inclusion(transactionHash: Hex): Promise<L1Inclusion | undefined> {
    return this.endpoints.request(`inclusion of ${transactionHash}`, async ({ rpc }) => {
      const place = statedPlace(await rpc.call("eth_getTransactionReceipt", [transactionHash]));
      if (place === undefined) return undefined;
      const { transactionIndex, ...inclusion } = place;
      const { blockNumber, blockHash } = inclusion;
      const canonical = await this.l1.blockByNumber(blockNumber);
      if (canonical?.hash !== blockHash) return undefined; // reorganised away
      const hashes = await this.l1.transactionHashes(blockHash);
      if (hashes === undefined) return undefined;
      const found = hashes[transactionIndex];
      if (found === undefined || !equalBytes(found, hexToBytes(transactionHash))) {
        throw faultyAnswer("receipt of a transaction that its block does not have", {
          transactionHash,
          blockHash,
          transactionIndex,
        });
      }
      return inclusion;
    });
  }

  private async latestHeader(): Promise<VerifiedHeader> {
    const header = await this.l1.blockByLabel("latest");
    if (header === undefined) throw new L1Error("l1/unavailable", { what: "latest block" });
    return header;
  }

  /** 0 if the client lacks the method: the sender's own minimum applies then. */
  private suggestedTip(): Promise<bigint> {
    return this.quantity("eth_maxPriorityFeePerGas", [], 0n);
  }

  /** @param ifUnsupported the answer for an endpoint that does not have the method */
  private quantity(method: string, params: readonly unknown[], ifUnsupported?: bigint): Promise<bigint> {
    return this.endpoints.request(method, async ({ rpc }) => {
      const answer = await rpc.call(method, params).catch((error: unknown) => {
        if (ifUnsupported !== undefined && isUnsupportedMethodError(error)) return toQuantity(ifUnsupported);
        throw error;
      });
      return readAnswer(method, () => parseQuantity(String(answer)));
    });
  }
}

/** The position and cost of a transaction by its receipt; `undefined` if it is not included yet. */
function statedPlace(json: unknown): (L1Inclusion & { readonly transactionIndex: number }) | undefined {
  if (json === null) return undefined;
  return readAnswer("receipt", () => {
    const receipt = jsonObject(json, "receipt");
    const blockHash = optionalField(receipt, "receipt", "blockHash", jsonHash);
    if (blockHash === undefined) return undefined; // still in the pool
    return {
      blockHash: bytesToHex(blockHash),
      blockNumber: requiredField(receipt, "receipt", "blockNumber", jsonQuantityNumber),
      transactionIndex: requiredField(receipt, "receipt", "transactionIndex", jsonQuantityNumber),
      isReverted: receipt.status === "0x0",
      feeWei: statedFee(receipt),
    };
  });
}

function statedFee(receipt: Readonly<Record<string, unknown>>): bigint | undefined {
  const amount = (name: string): bigint | undefined => optionalField(receipt, "receipt", name, jsonQuantity256);
  const [gas, price] = [amount("gasUsed"), amount("effectiveGasPrice")];
  if (gas === undefined || price === undefined) return undefined;
  return gas * price + (amount("blobGasUsed") ?? 0n) * (amount("blobGasPrice") ?? 0n);
}
