import { concatBytes, uint64ToBytes } from "@rnode/primitives";
import { decodeTransaction, type L2BlockRef, type Log, type RollupConfig } from "@rnode/protocol";
import { numberAt } from "@rnode/rnode";
import type { Random } from "../random.ts";
import { emittingTransaction, executingTransaction, type LogPlace, logOfTransaction } from "../sim-logs.ts";

/** A chain of the set as its users see it: the blocks of its sequencer. */
export interface TrafficChain {
  readonly config: RollupConfig;
  canonicalRef(number: number): L2BlockRef | undefined;
  logsOf(number: number): readonly Log[];
  /** number of the newest block */
  readonly headNumber: number;
}

export interface SetTrafficOptions {
  readonly expirySec: number;
  /** blocks with an invalid message */
  readonly hostileBlocks: number;
  /** of times at which messages of all chains depend on each other */
  readonly cycles: number;
  /** until then there are hostile blocks; seconds */
  readonly hostileUntilSec: number;
}

/** A block that a sequencer is about to make. */
interface Promised {
  readonly number: number;
  readonly timestamp: number;
  readonly logs: readonly Log[];
}

const NO_LOG: Log = { address: new Uint8Array(20).fill(0xe1), topics: [], data: new Uint8Array(1) };

/** What users put into the blocks of a set: logs, and messages that execute them. */
export class SetTraffic {
  readonly #options: SetTrafficOptions;
  readonly #random: Random;
  readonly #chains: readonly TrafficChain[];
  /** the newest of each chain */
  readonly #promised = new Map<bigint, Promised>();
  #hostileLeft: number;
  #cyclesLeft: number;
  #cycleSec: number | undefined;
  /** how many messages were executed, of those how many at the time of their logs */
  executed = 0;
  executedAtOnce = 0;

  constructor(options: SetTrafficOptions, chains: readonly TrafficChain[], random: Random) {
    this.#options = options;
    this.#random = random;
    this.#chains = chains;
    this.#hostileLeft = options.hostileBlocks;
    this.#cyclesLeft = options.cycles;
  }

  /** The users' transactions of a block. */
  contentOf(chain: TrafficChain, parent: L2BlockRef, timestamp: number): readonly Uint8Array[] {
    const { l2ChainId } = chain.config;
    const number = parent.number + 1;
    const content = this.#cycle(chain, number, timestamp) ?? this.#ordinary(chain, number, timestamp);
    this.#promised.set(l2ChainId, { number, timestamp, logs: content.map((tx) => logOfTransaction(decodeTransaction(tx))!) });
    return content;
  }

  #ordinary(chain: TrafficChain, number: number, timestamp: number): Uint8Array[] {
    const random = this.#random;
    const { l2ChainId } = chain.config;
    const content: Uint8Array[] = [];
    for (let left = random.pick([0, 0, 1, 1, 2, 3]); left > 0; left--) {
      const executing = random.chance(0.6) ? this.#execute(chain, timestamp) : undefined;
      content.push(executing ?? emittingTransaction(l2ChainId, dataOf(l2ChainId, number, content.length)));
    }
    if (this.#hostileLeft > 0 && timestamp < this.#options.hostileUntilSec && random.chance(0.08)) {
      this.#hostileLeft--;
      content.push(this.#lie(chain, number, timestamp, content.length));
    }
    return content;
  }

  /** Executes a log that is in the sequencers' chains, or that one of them is about to make. */
  #execute(chain: TrafficChain, timestamp: number): Uint8Array | undefined {
    const random = this.#random;
    const other = random.pick(this.#chains);
    const { l2ChainId: chainId } = other.config;
    const promised = this.#promised.get(chainId);
    if (other !== chain && promised?.timestamp === timestamp && promised.logs.length > 0 && random.chance(0.6)) {
      const logIndex = random.below(promised.logs.length);
      this.executed++;
      this.executedAtOnce++;
      return executingTransaction(chain.config.l2ChainId, { chainId, ...promised, logIndex }, promised.logs[logIndex]!);
    }
    const number = Math.min(other.headNumber, numberAt(other.config, timestamp)) - random.below(12);
    const block = number > 0 ? other.canonicalRef(number) : undefined;
    if (block === undefined || timestamp - block.timestamp > this.#options.expirySec) return undefined;
    const logs = other.logsOf(number);
    if (logs.length === 0) return undefined;
    const logIndex = random.below(logs.length);
    this.executed++;
    return executingTransaction(chain.config.l2ChainId, { chainId, number, logIndex, timestamp: block.timestamp }, logs[logIndex]!);
  }

  /** A message that is invalid, or that is valid by luck. */
  #lie(chain: TrafficChain, number: number, timestamp: number, ownIndex: number): Uint8Array {
    const random = this.#random;
    const { l2ChainId } = chain.config;
    const other = random.pick(this.#chains);
    const { config } = other;
    const place = (at: number, logIndex: number): LogPlace => ({
      ...{ chainId: config.l2ChainId, number: at, logIndex },
      timestamp: config.genesis.l2TimeSec + at * config.blockTimeSec,
    });
    const now = Math.max(0, numberAt(config, timestamp));
    const old = Math.max(1, now - random.below(6));
    const plain = (at: LogPlace): Log => ({ ...NO_LOG, data: dataOf(at.chainId, at.number, at.logIndex) });
    const named = random.pick<() => LogPlace>([
      () => place(old, random.between(0, 3)),
      () => place(now, random.between(0, 2)),
      () => place(now + random.between(1, 4), 0),
      () => ({ ...place(old, 0), timestamp: timestamp - random.between(0, 3) }),
      () => place(Math.max(1, numberAt(config, timestamp - this.#options.expirySec) - random.between(0, 2)), 0),
      () => ({ ...place(old, 0), chainId: 77n }),
      () => ({ chainId: l2ChainId, number, timestamp, logIndex: ownIndex + random.below(2) }),
    ])();
    return executingTransaction(l2ChainId, named, random.chance(0.2) ? NO_LOG : plain(named));
  }

  /** Each chain with a block at this time executes the second log of the next one's, and then makes such a log. */
  #cycle(chain: TrafficChain, number: number, timestamp: number): Uint8Array[] | undefined {
    const { l2ChainId } = chain.config;
    const isDue = this.#cyclesLeft > 0 && timestamp < this.#options.hostileUntilSec;
    if (isDue && timestamp > (this.#cycleSec ?? 0) && this.#ring(timestamp).length > 1 && this.#random.chance(0.05)) {
      this.#cyclesLeft--;
      this.#cycleSec = timestamp;
    }
    if (timestamp !== this.#cycleSec) return undefined;
    const ring = this.#ring(timestamp);
    const next = ring[(ring.indexOf(chain) + 1) % ring.length]!;
    const { l2ChainId: chainId } = next.config;
    const place = { chainId, number: numberAt(next.config, timestamp), logIndex: 1, timestamp };
    const log = { ...NO_LOG, data: dataOf(chainId, place.number, 1) };
    return [executingTransaction(l2ChainId, place, log), emittingTransaction(l2ChainId, dataOf(l2ChainId, number, 1))];
  }

  #ring(timestamp: number): readonly TrafficChain[] {
    return this.#chains.filter(
      ({ config: { genesis, blockTimeSec } }) =>
        timestamp > genesis.l2TimeSec && (timestamp - genesis.l2TimeSec) % blockTimeSec === 0,
    );
  }
}

/** What a plain log says follows from its place. */
const dataOf = (chainId: bigint, number: number, logIndex: number): Uint8Array =>
  concatBytes(uint64ToBytes(Number(chainId)), uint64ToBytes(number), uint64ToBytes(logIndex));
