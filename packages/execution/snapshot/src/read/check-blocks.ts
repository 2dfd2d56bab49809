import { checkBodyBelongs, describeFault, PreparedBlock, rulesOfBlock } from "@rnode/chain";
import { bytesToHex, equalBytes } from "@rnode/primitives";
import { type ChainConfig, encodeReceipts } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { falseContent } from "../errors.ts";
import type { BlockRecord } from "../format/block-records.ts";
import type { Manifest } from "../format/manifest.ts";
import { l1OriginOf } from "../reach/l1-origin.ts";
import { type StartReach, StartReachMeter } from "../reach/start-reach.ts";

type Expected = Pick<Manifest, "genesis" | "hash" | "oldestBlock">;

/** Checks that blocks come one after the other, up to the one of the manifest, each with the body and the receipts that its header commits to. */
export class BlockChecks {
  readonly #config: ChainConfig;
  readonly #manifest: Expected;
  readonly #meter: StartReachMeter;
  readonly #hasReceipts: boolean;
  #last: { readonly number: number; readonly hash: Uint8Array } | undefined;
  count = 0;

  /** @param hasReceipts false: there are none to check */
  constructor(config: ChainConfig, manifest: Expected, hasReceipts = true) {
    this.#hasReceipts = hasReceipts;
    this.#config = config;
    this.#manifest = manifest;
    this.#meter = new StartReachMeter(config, manifest.oldestBlock === manifest.genesis.block.header.number + 1);
  }

  /** @returns the block's hash. @throws {CodedError} snapshot/false-content */
  check({ block, receipts }: BlockRecord): Uint8Array {
    const prepared = new PreparedBlock(block);
    const { number, parentHash, receiptsRoot } = block.header;
    const expected = this.#last === undefined ? this.#manifest.oldestBlock : this.#last.number + 1;
    if (number !== expected) throw falseContent(`block ${number} stands where block ${expected} should`);
    const parent =
      this.#last?.hash ?? (number - 1 === this.#manifest.genesis.block.header.number ? this.#manifest.genesis.hash : undefined);
    if (parent !== undefined && !equalBytes(parentHash, parent))
      throw falseContent(`block ${number} is not the child of the one before`);
    const fault = checkBodyBelongs(rulesOfBlock(this.#config, block.header), prepared);
    if (fault !== undefined) throw falseContent(`block ${number}: ${describeFault(fault)}`);
    const isComplete = receipts.length === block.transactions.length;
    if (this.#hasReceipts && (!isComplete || !equalBytes(orderedTrieRoot(encodeReceipts(receipts)), receiptsRoot))) {
      throw falseContent(`the receipts of block ${number} are not those that its header commits to`);
    }
    this.#last = { number, hash: prepared.hash };
    this.#meter.take(l1OriginOf(block.transactions[0]));
    this.count++;
    return prepared.hash;
  }

  /** Checks that all blocks were there. @returns how far back they reach. @throws {CodedError} snapshot/false-content */
  finish(): StartReach {
    if (this.#last !== undefined && equalBytes(this.#last.hash, this.#manifest.hash)) return this.#meter.reach;
    throw falseContent(`its blocks do not end with ${bytesToHex(this.#manifest.hash)}, of which the state is`);
  }
}
