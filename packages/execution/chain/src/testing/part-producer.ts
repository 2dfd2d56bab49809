import { bytesToHex, equalBytes, type Hex, hexToBytes } from "@rnode/primitives";
import { type FeeMarketTransaction, hashTransaction } from "@rnode/protocol";
import type { PartsEnd, PendingBlock } from "../chain-parts.ts";
import { attributesFor, type DevChain, fixedPool, forkchoice, openDevChain } from "./dev-chain.ts";

/** How the parts of a build ended. */
export interface PartsEnded {
  readonly index: number;
  readonly reason: PartsEnd;
  readonly lost: number;
}

/** A chain that publishes parts, with a clock and a pool of its own. */
export class PartProducer {
  readonly dev: DevChain;
  /** numbers of the blocks whose builds began */
  readonly begun: number[] = [];
  readonly parts: PendingBlock[] = [];
  readonly ends: PartsEnded[] = [];
  readonly errors: unknown[] = [];
  pool: { from: number; tx: FeeMarketTransaction }[] = [];
  /** undefined: what was published here */
  promised: PendingBlock | undefined;
  timer: { readonly atMs: number; readonly action: () => void } | undefined;
  nowMs = 1_000_000;

  constructor(intervalMs = 500) {
    this.dev = openDevChain("jovian");
    const { chain } = this.dev;
    chain.setPendingSource(fixedPool(() => this.pool));
    chain.publishParts({
      intervalMs,
      clock: { unixMs: () => this.nowMs },
      delay: (delayMs, action) => {
        const timer = { atMs: this.nowMs + delayMs, action };
        this.timer = timer;
        return { cancel: () => (this.timer = this.timer === timer ? undefined : this.timer) };
      },
      promised: (parentHash) => {
        const latest = this.promised ?? this.parts.at(-1);
        return latest !== undefined && equalBytes(latest.block.header.parentHash, parentHash) ? latest : undefined;
      },
      sink: {
        onBegin: (number) => this.begun.push(number),
        onPart: (part) => this.parts.push(part),
        onEnd: ({ index }, reason, lost) => this.ends.push({ index, reason, lost }),
        onError: (error) => this.errors.push(error),
      },
    });
  }

  /** Starts a build on the head. @returns the payload id */
  start(seed = 1): Hex {
    const attributes = attributesFor(this.dev, seed, { noTxPool: false });
    const result = this.dev.chain.forkchoiceUpdated(forkchoice(hexToBytes(this.dev.chain.head().hash)), attributes, 3);
    if (result.kind !== "updated" || result.payloadId === undefined) throw new Error(JSON.stringify(result));
    return result.payloadId;
  }

  /** Runs the next timer. */
  tick(): void {
    const { atMs, action } = this.timer!;
    this.timer = undefined;
    this.nowMs = atMs;
    action();
  }

  /** Hashes of a block's transactions after its deposit. */
  users(block: PendingBlock["block"]): string[] {
    return block.transactions.slice(1).map((each) => bytesToHex(hashTransaction(each)));
  }
}
