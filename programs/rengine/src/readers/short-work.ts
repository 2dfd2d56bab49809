import type { Work } from "@rnode/eth-api";
import { clientOf, type RequestContext } from "@rnode/jsonrpc";
import { type Rate, TokenBucket } from "@rnode/primitives";

/** A request that takes longer is stopped here. */
export const LONGEST_MS = 2;
/** Requests that take no longer cost their client nothing. */
const FREE_MS = 0.2;
/** The same for a request that ran elsewhere, where the time includes reading it again. */
const SHORT_ELSEWHERE_MS = 1;
/** A connection is trusted when its last requests, at least this many, all cost nothing. */
const TRUSTED_AFTER = 8;

/** The milliseconds of this thread for longer requests: a burst, and a long-term rate. */
const OF_CONNECTION: Rate = { burst: 10, perSec: 20 };
const OF_NETWORK: Rate = { burst: 20, perSec: 100 };
const OF_ALL: Rate = { burst: 40, perSec: 200 };
/** How many networks are remembered; those whose whole allowance is available again are forgotten first. */
const MAX_NETWORKS = 10_000;

class Overrun extends Error {}

/** What `attempt` returns for a request that has to begin again elsewhere. */
export const OVERRUN = Symbol("takes too long");

/** Whether something that a costly method threw only says that it takes too long here. */
export const isOverrun = (error: unknown): boolean => error instanceof Overrun;

interface Conduct {
  readonly allowance: TokenBucket;
  /** number of requests that cost nothing since the last that did */
  shortOnes: number;
}

/**
 * Attempts costly requests in the thread that answers all others, because most of them are over in microseconds. One that is not has to begin
 * again elsewhere. What attempts may take of this thread's time is limited for each connection, for each network and in all.
 */
export class ShortWork {
  readonly #nowMs: () => number;
  readonly #clock: { monotonicMs(): number };
  readonly #conduct = new WeakMap<RequestContext, Conduct>();
  readonly #networks = new Map<string, TokenBucket>();
  readonly #all: TokenBucket;
  readonly #charge: (client: RequestContext, gas: number) => void;
  #endMs = 0;
  #gas = 0n;
  readonly #work: Work = {
    check: (stepGas = 0n) => {
      if (stepGas > 0n || this.#nowMs() > this.#endMs) throw new Overrun();
    },
    burn: (gas) => {
      this.#gas += gas;
    },
  };

  /** @param charge called with the gas burned by a client's attempts */
  constructor(charge: (client: RequestContext, gas: number) => void, nowMs: () => number = () => performance.now()) {
    this.#charge = charge;
    this.#nowMs = nowMs;
    this.#clock = { monotonicMs: nowMs };
    this.#all = new TokenBucket(OF_ALL, this.#clock);
  }

  /**
   * Runs the synchronous part of a request, if its client may have that here. A promise that it returns may still be rejected with an overrun.
   *
   * @throws what `run` throws for other reasons
   */
  attempt<T>(client: RequestContext, run: (work: Work) => T): T | typeof OVERRUN {
    const startMs = this.#nowMs();
    const conduct = this.#conductOf(client);
    if (!this.#mayBegin(client, conduct)) return OVERRUN;
    this.#endMs = startMs + LONGEST_MS;
    this.#gas = 0n;
    try {
      return run(this.#work);
    } catch (error) {
      if (isOverrun(error)) return OVERRUN;
      throw error;
    } finally {
      this.#count(client, conduct, this.#nowMs() - startMs);
      this.#charge(client, Number(this.#gas));
    }
  }

  /** Learns how long a request took elsewhere. */
  learn(client: RequestContext, workedMs: number): void {
    const conduct = this.#conductOf(client);
    if (workedMs <= SHORT_ELSEWHERE_MS) conduct.shortOnes++;
    else conduct.shortOnes = 0;
  }

  #mayBegin(client: RequestContext, { allowance, shortOnes }: Conduct): boolean {
    if (shortOnes >= TRUSTED_AFTER) return true;
    return allowance.left > 0 && this.#networkOf(client).left > 0 && this.#all.left > 0;
  }

  #count(client: RequestContext, conduct: Conduct, usedMs: number): void {
    if (usedMs <= FREE_MS) {
      conduct.shortOnes++;
      return;
    }
    conduct.shortOnes = 0;
    conduct.allowance.spend(usedMs);
    this.#networkOf(client).spend(usedMs);
    this.#all.spend(usedMs);
  }

  #conductOf(client: RequestContext): Conduct {
    let conduct = this.#conduct.get(client);
    if (conduct === undefined) {
      conduct = { allowance: new TokenBucket(OF_CONNECTION, this.#clock), shortOnes: 0 };
      this.#conduct.set(client, conduct);
    }
    return conduct;
  }

  #networkOf(client: RequestContext): TokenBucket {
    const key = clientOf(client.remoteAddress);
    let network = this.#networks.get(key);
    if (network === undefined) {
      if (this.#networks.size >= MAX_NETWORKS) this.#forget();
      this.#networks.set(key, (network = new TokenBucket(OF_NETWORK, this.#clock)));
    }
    return network;
  }

  #forget(): void {
    for (const [key, network] of this.#networks) if (network.isFull) this.#networks.delete(key);
    const [oldest] = this.#networks.keys();
    if (this.#networks.size >= MAX_NETWORKS && oldest !== undefined) this.#networks.delete(oldest);
  }
}
