import { RpcError, type RpcOutcome, RpcTransportError } from "@rnode/jsonrpc";
import { bytesToHex, equalBytes, type Hex, hexToBytes, keccak256, readRlpSpan, toQuantity } from "@rnode/primitives";
import type { L1Rpc } from "./endpoints/endpoint.ts";
import { faultyAnswer, L1Error, readAnswer } from "./l1-error.ts";
import type { VerifiedHeader } from "./verified/verified-header.ts";
import type { UnknownEntry } from "./verified/verified-transactions.ts";

/** Up to this number of a block's transactions are requested one by one, instead of the whole block. */
const MAX_SINGLE = 8;

type Ask<T> = () => Promise<T>;

/**
 * The bytes of structures that JSON does not determine, from one endpoint: a header with unknown fields, or a transaction of an
 * unknown type. They are unverified, except that transactions have the requested hashes.
 */
export class RawBlock {
  readonly #rpc: L1Rpc;

  constructor(rpc: L1Rpc) {
    this.#rpc = rpc;
  }

  /** @returns undefined if the endpoint does not give it */
  async header(hash: Hex): Promise<Uint8Array | undefined> {
    const asked = await this.#first<Uint8Array>([
      () => this.#bytes("debug_getRawHeader", hash),
      async () => partsOf(await this.#bytes("debug_getRawBlock", hash)).header,
    ]);
    return asked.kind === "given" ? asked.value : undefined;
  }

  /**
   * The encodings of some transactions, by their index.
   *
   * @throws {L1Error} l1/raw-needed
   */
  async transactions(block: VerifiedHeader, wanted: readonly UnknownEntry[]): Promise<ReadonlyMap<number, Uint8Array>> {
    if (wanted.length === 0) return new Map();
    const ways: Ask<readonly Uint8Array[]>[] = [
      () => this.#each(wanted.map(({ hash }) => ({ method: "eth_getRawTransactionByHash", params: [bytesToHex(hash)] }))),
      () => this.#ofBlock(block, wanted),
      () =>
        this.#each(
          wanted.map(({ index }) => ({
            method: "eth_getRawTransactionByBlockHashAndIndex",
            params: [block.hash, toQuantity(index)],
          })),
        ),
    ];
    const ordered = wanted.length > MAX_SINGLE ? [ways[1]!, ways[0]!, ways[2]!] : ways;
    // an endpoint without an index of transactions has them only in the block, and answers "0x" by hash
    const asked = await this.#first(ordered.map((way) => async () => byIndex(await way(), wanted, block)));
    if (asked.kind === "refused") {
      throw new L1Error("l1/raw-needed", {
        block: block.number,
        what: `a transaction of type 0x${wanted[0]!.typeByte.toString(16)}`,
        reason: asked.reason,
        methods: "eth_getRawTransactionByHash or debug_getRawBlock",
      });
    }
    return asked.value;
  }

  async #ofBlock(block: VerifiedHeader, wanted: readonly UnknownEntry[]): Promise<readonly Uint8Array[]> {
    const all = partsOf(await this.#bytes("debug_getRawBlock", block.hash)).transactions;
    return wanted.map(({ index }) => all[index] ?? new Uint8Array());
  }

  async #each(calls: readonly { readonly method: string; readonly params: readonly unknown[] }[]): Promise<readonly Uint8Array[]> {
    const outcomes = await this.#rpc.batch(calls);
    return outcomes.map((outcome: RpcOutcome, index) => {
      if (outcome.kind === "error") throw outcome.error;
      return rawBytes(calls[index]!.method, outcome.result);
    });
  }

  async #bytes(method: string, hash: Hex): Promise<Uint8Array> {
    return rawBytes(method, await this.#rpc.call(method, [hash]));
  }

  /** The first method that the endpoint offers. After a faulty answer, the next method is tried. */
  async #first<T>(
    ways: readonly Ask<T>[],
  ): Promise<{ readonly kind: "given"; readonly value: T } | { readonly kind: "refused"; readonly reason: string }> {
    let reason = "";
    for (const way of ways) {
      try {
        return { kind: "given", value: await way() };
      } catch (error) {
        if (!isRefusal(error)) throw error;
        reason ||= error.message;
      }
    }
    return { kind: "refused", reason };
  }
}

/** Whether the endpoint, or a gateway in front of it, does not offer the method, or does not have the block. */
export function isRefusal(error: unknown): error is Error {
  if (error instanceof RpcTransportError) return error.code === "rpc/http-status" && Number(error.data.status) < 500;
  return error instanceof RpcError || (error instanceof L1Error && error.code === "l1/faulty-answer");
}

function rawBytes(method: string, answer: unknown): Uint8Array {
  if (typeof answer !== "string") throw faultyAnswer(method, { got: answer === null ? "null" : typeof answer });
  return readAnswer(method, () => hexToBytes(answer));
}

/** @throws {L1Error} l1/faulty-answer: one does not have its hash */
function byIndex(
  all: readonly Uint8Array[],
  wanted: readonly UnknownEntry[],
  block: VerifiedHeader,
): ReadonlyMap<number, Uint8Array> {
  return new Map(
    wanted.map(({ index, hash }, at) => {
      const encoded = all[at];
      if (encoded === undefined || !equalBytes(keccak256(encoded), hash)) {
        throw faultyAnswer("raw transaction", { block: block.hash, index, hash: bytesToHex(hash) });
      }
      return [index, encoded] as const;
    }),
  );
}

/** Layout: [header, [transaction, …], …]; a legacy transaction is a list, any other a string. */
function partsOf(block: Uint8Array): { readonly header: Uint8Array; readonly transactions: readonly Uint8Array[] } {
  return readAnswer("raw block", () => {
    const whole = readRlpSpan(block, 0);
    const header = readRlpSpan(block, whole.dataStart, whole.end);
    const list = readRlpSpan(block, header.end, whole.end);
    const transactions: Uint8Array[] = [];
    for (let at = list.dataStart; at < list.end; ) {
      const item = readRlpSpan(block, at, list.end);
      transactions.push(block.subarray(item.isList ? item.start : item.dataStart, item.end));
      at = item.end;
    }
    return { header: block.subarray(header.start, header.end), transactions };
  });
}
