import type { JsonObject } from "@rnode/eth-api";
import { type RpcClient, RpcError } from "@rnode/jsonrpc";
import { asciiToBytes, type Hex, toQuantity } from "@rnode/primitives";
import { rowsOfBlock } from "../export/block-rows.ts";
import { rowToJson, type Table } from "../export/columns.ts";
import type { BlockNode, NodeBlock } from "./stream-entry.ts";

export const HEADS = ["latest", "safe", "finalized"] as const;
export type Head = (typeof HEADS)[number];

type BlockObject = JsonObject & {
  readonly hash: Hex;
  readonly parentHash: Hex;
  readonly number: Hex;
  readonly transactions: JsonObject[];
};

/** Any execution client, by methods that all of them have. */
export class RpcNode implements BlockNode {
  readonly #rpc: Pick<RpcClient, "call">;
  readonly #head: Head;

  /** @param head blocks above it are not published */
  constructor(rpc: Pick<RpcClient, "call">, head: Head) {
    this.#rpc = rpc;
    this.#head = head;
  }

  async genesisHash(): Promise<Hex> {
    const hash = await this.hashAt(0);
    if (hash === undefined) throw new Error("the node does not have block 0");
    return hash;
  }

  async headNumber(): Promise<number | undefined> {
    try {
      const found = await this.#block(this.#head, false);
      return found === null ? undefined : Number(found.number);
    } catch (error) {
      if (this.#head !== "latest" && error instanceof RpcError) return undefined; // there is none yet
      throw error;
    }
  }

  async hashAt(number: number): Promise<Hex | undefined> {
    return (await this.#block(toQuantity(number), false))?.hash;
  }

  async block(number: number): Promise<NodeBlock | undefined> {
    const block = await this.#block(toQuantity(number), true);
    if (block === null) return undefined;
    const { hash, parentHash } = block;
    const receipts = await this.#rpc.call<JsonObject[] | null>("eth_getBlockReceipts", [hash]);
    const isComplete =
      receipts?.length === block.transactions.length &&
      receipts.every((receipt, index) => receipt.blockHash === hash && receipt.transactionHash === block.transactions[index]!.hash);
    if (!isComplete) throw new Error(`the node has no receipts of block ${number} ${hash}`);
    return { number, hash, parentHash, body: bodyOf(block, receipts) };
  }

  #block(block: string, full: boolean): Promise<BlockObject | null> {
    return this.#rpc.call<BlockObject | null>("eth_getBlockByNumber", [block, full]);
  }
}

/** The rows of the tables that `rengine export` writes. */
function bodyOf(block: BlockObject, receipts: readonly JsonObject[]): Uint8Array {
  const rows = rowsOfBlock({ block, receipts, traces: [] });
  const list = (table: Table): string => rows[table].map((row) => rowToJson(table, row)).join(",");
  const { hash, parentHash } = block;
  const place = `"kind":"block","block_number":${Number(block.number)},"block_hash":"${hash}","parent_hash":"${parentHash}"`;
  const lists = (["transactions", "receipts", "logs"] as const).map((table) => `"${table}":[${list(table)}]`);
  return asciiToBytes(`{${place},"block":${list("blocks")},${lists.join(",")}}`);
}
