import { RpcError, type RpcOutcome } from "@rnode/jsonrpc";
import type { Clock } from "@rnode/primitives";
import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import { hashTransaction } from "@rnode/protocol";
import type { L1Rpc } from "../endpoints/endpoint.ts";
import type { BlockFixture } from "./block-json.ts";
import type { ForeignBlock } from "./foreign-block.ts";

/** A clock that moves only by sleeping. */
export class FakeClock implements Clock {
  now = 0;
  readonly sleptMs: number[] = [];

  unixMs(): number {
    return this.now;
  }

  monotonicMs(): number {
    return this.now;
  }

  sleep(ms: number): Promise<void> {
    this.sleptMs.push(ms);
    this.now += ms;
    return Promise.resolve();
  }
}

/** An L1 endpoint with `blocks`; `override` comes first. */
export class FakeEndpoint implements L1Rpc {
  readonly blocks: BlockFixture[];
  readonly calls: string[] = [];
  /** number of calls of each batch */
  readonly batches: number[] = [];
  connectionsLost = 0;
  /** methods of particular providers that it has */
  readonly extraMethods = new Set<string>();
  /** a thrown error is the answer; `undefined`: the honest answer */
  override: (method: string, params: readonly unknown[]) => unknown = () => undefined;

  constructor(blocks: BlockFixture[]) {
    this.blocks = blocks;
  }

  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    this.calls.push(method);
    const overridden = this.override(method, params);
    return overridden === undefined ? this.answer(method, params) : overridden;
  }

  async batch(calls: readonly { readonly method: string; readonly params: readonly unknown[] }[]): Promise<readonly RpcOutcome[]> {
    this.batches.push(calls.length);
    return Promise.all(
      calls.map(async ({ method, params }) => {
        try {
          return { kind: "result", result: await this.call(method, params) } as const;
        } catch (error) {
          if (error instanceof RpcError) return { kind: "error", error } as const;
          throw error;
        }
      }),
    );
  }

  private labelled(label: unknown): BlockFixture | undefined {
    if (label === "latest") return this.blocks.at(-1);
    return label === "finalized" ? this.blocks[0] : undefined;
  }

  private rawAnswer(method: string, id: unknown, index: unknown): unknown {
    const blocks = this.blocks.filter((block): block is ForeignBlock => "rawBlock" in block);
    const block = blocks.find(({ hash }) => hash === id);
    if (method === "debug_getRawHeader") return block?.rawHeader ?? null;
    if (method === "debug_getRawBlock") return block?.rawBlock ?? null;
    if (method === "eth_getRawTransactionByBlockHashAndIndex") return block?.rawTransactions[Number(index)] ?? null;
    const found = blocks.find(({ transactionHashes }) => transactionHashes.includes(id as Hex));
    return found?.rawTransactions[found.transactionHashes.indexOf(id as Hex)] ?? null;
  }

  private answer(method: string, [id, flag]: readonly unknown[]): unknown {
    const byHash = this.blocks.find(({ hash }) => hash === id);
    switch (method) {
      case "eth_chainId":
        return "0x384";
      case "eth_getBlockByNumber": {
        const found = this.blocks.find((block) => block === this.labelled(id) || toQuantity(block.header.number) === id);
        return (flag === true ? found?.fullJson : found?.json) ?? null;
      }
      case "eth_getBlockByHash":
        return (flag === true ? byHash?.fullJson : byHash?.json) ?? null;
      case "alchemy_getTransactionReceipts": {
        if (!this.extraMethods.has(method)) break;
        const asked = this.blocks.find(({ hash }) => hash === (id as { blockHash?: unknown }).blockHash);
        return asked === undefined ? null : { receipts: asked.receiptsJson };
      }
      case "parity_getBlockReceipts":
      case "erigon_getBlockReceiptsByBlockHash":
        if (!this.extraMethods.has(method)) break;
        return byHash?.receiptsJson ?? null;
      case "eth_getBlockReceipts":
        return byHash?.receiptsJson ?? null;
      case "debug_getRawReceipts":
        return byHash?.rawReceipts ?? null;
      case "debug_getRawHeader":
      case "debug_getRawBlock":
      case "eth_getRawTransactionByHash":
      case "eth_getRawTransactionByBlockHashAndIndex":
        if (!this.extraMethods.has(method)) break;
        return this.rawAnswer(method, id, flag);
      case "eth_getTransactionReceipt":
        for (const block of this.blocks) {
          const hashes = "transactionHashes" in block ? (block as ForeignBlock).transactionHashes : hashesOf(block);
          const index = hashes.indexOf(id as Hex);
          if (index >= 0) return block.receiptsJson[index];
        }
        return null;
    }
    throw new RpcError(-32601, "the method does not exist");
  }
}

const hashesOf = ({ transactions }: BlockFixture): readonly Hex[] =>
  transactions.map((transaction) => bytesToHex(hashTransaction(transaction)));
