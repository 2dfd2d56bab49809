import { type BlockMessages, checkBlocks, type SetRules } from "@rnode/interop";
import type { BlockId } from "@rnode/protocol";
import type { LabelledChain } from "./labelled-chain.ts";
import { MessageIngest } from "./message-ingest.ts";
import { numberAt } from "./set-chain.ts";
import type { SetDatabase } from "./set-database.ts";
import { firstMessages, nextBlockTime } from "./set-rules.ts";

export interface CrossUnsafeDeps {
  /** all chains of the set */
  readonly chains: readonly LabelledChain[];
  readonly rules: SetRules;
  readonly database: SetDatabase;
  /** of the first round, in seconds */
  readonly startSec: number;
}

/** All blocks of all chains up to a time have valid messages. */
interface Checked {
  /** seconds */
  readonly timestamp: number;
  /** by chain id: the newest block up to `timestamp`; empty before the first round */
  readonly heads: ReadonlyMap<bigint, BlockId>;
}

/** An unsafe block that executes an invalid message. */
export interface InvalidUnsafe {
  readonly chainId: bigint;
  readonly block: BlockId;
  readonly reason: string;
}

/** Blocks of a chain that are read in one call of `advance`, and times that are checked. */
const BLOCKS_AT_ONCE = 256;

/**
 * Reads the messages of unsafe blocks, and checks them as `SetVerifier` checks local-safe ones. Nothing is decided by it: it says how far a block
 * builder can rely on messages. `advance` and the rounds of `SetVerifier` must take turns, because both write the log of messages.
 */
export class CrossUnsafe {
  /** why it goes no further; empty: all blocks that were read are valid */
  invalid: readonly InvalidUnsafe[] = [];
  private readonly deps: CrossUnsafeDeps;
  private readonly ingests: ReadonlyMap<LabelledChain, MessageIngest>;
  private checked: Checked | undefined;
  /** the time up to which the messages of all chains are in the log, in seconds; `undefined`: of a chain none is */
  private readTo: number | undefined;

  constructor(deps: CrossUnsafeDeps) {
    this.deps = deps;
    this.ingests = new Map(deps.chains.map((chain) => [chain, new MessageIngest(chain, deps.database)]));
  }

  /** Blocks of all chains up to this time have valid messages, in seconds; `undefined`: nothing is checked. */
  get timestamp(): number | undefined {
    return this.checked?.timestamp;
  }

  get readToTimestamp(): number | undefined {
    return this.readTo;
  }

  /** The newest block of a chain that was checked. */
  headOf(chainId: bigint): BlockId | undefined {
    return this.checked?.heads.get(chainId);
  }

  /** Reads and checks what is new, up to a bound. @throws {CodedError} engine/*, storage/*, set-database/* */
  async advance(): Promise<void> {
    if (!Number.isFinite(this.deps.startSec)) return;
    const isRead = await Promise.all(this.deps.chains.map((chain) => this.read(chain)));
    if (!isRead.every(Boolean)) return;
    const last = [...this.ingests.values()].map(({ log }) => log.last?.timestamp);
    this.readTo = last.some((time) => time === undefined) ? undefined : Math.min(...(last as number[]));
    this.check();
  }

  /** @returns whether the log has what it should have by now */
  private async read(chain: LabelledChain): Promise<boolean> {
    const { rules, database, startSec } = this.deps;
    const ingest = this.ingests.get(chain)!;
    const unsafe = chain.labels?.unsafe;
    const fromSec = database.verified.last?.timestamp ?? startSec;
    if (unsafe === undefined || unsafe.timestamp < fromSec) return false;
    const first = firstMessages(rules, chain, fromSec);
    const read = ingest.log.last?.number;
    if (read !== undefined && read > unsafe.number) {
      database.atomically(() => ingest.log.rewind(unsafe.number), { isFlushed: false });
    }
    const bound = (read ?? first) + BLOCKS_AT_ONCE;
    const target = unsafe.number <= bound ? unsafe : await chain.blockAt(bound);
    return target !== undefined && (await ingest.reach(target, first));
  }

  private check(): void {
    const { chains, rules, database, startSec } = this.deps;
    const { last } = database.verified;
    if (this.checked !== undefined && !this.isInLog(this.checked)) this.checked = undefined;
    if (this.checked === undefined || (last !== undefined && last.timestamp > this.checked.timestamp)) {
      this.checked = last ?? { timestamp: startSec - 1, heads: new Map() };
    }
    const configs = chains.map(({ config }) => config);
    this.invalid = [];
    for (let times = 0; times < BLOCKS_AT_ONCE; times++) {
      const timestamp = nextBlockTime(configs, this.checked.timestamp);
      if (this.readTo === undefined || timestamp > this.readTo) return;
      const heads = new Map<bigint, BlockId>();
      const blocks = new Map<bigint, BlockMessages>();
      for (const [{ chainId, config }, { log }] of this.ingests) {
        const found = log.at(numberAt(config, timestamp));
        if (found === undefined) return;
        heads.set(chainId, { hash: found.block.hash, number: found.block.number });
        if (found.block.timestamp === timestamp) blocks.set(chainId, found);
      }
      const verdict = checkBlocks(rules, timestamp, blocks, (message) => this.logOf(message.chainId).lookup(message));
      if (verdict.kind === "unknown") return;
      this.invalid = [...verdict.invalid].map(([chainId, reason]) => ({ chainId, block: heads.get(chainId)!, reason }));
      if (this.invalid.length > 0) return;
      this.checked = { timestamp, heads };
    }
  }

  private isInLog({ heads }: Checked): boolean {
    return [...heads].every(([chainId, { number, hash }]) => this.logOf(chainId).at(number)?.block.hash === hash);
  }

  private logOf(chainId: bigint): MessageIngest["log"] {
    return [...this.ingests].find(([chain]) => chain.chainId === chainId)![1].log;
  }
}
