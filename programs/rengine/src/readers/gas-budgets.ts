import { clientOf, type RequestContext } from "@rnode/jsonrpc";
import { type Rate, TokenBucket } from "@rnode/primitives";

export interface GasRates {
  /** gas a second; Infinity: no limit */
  readonly perConnection: number;
  /** the same for all connections from one network of clients */
  readonly perAddress: number;
}

/**
 * A client may burn this many seconds' worth at once, and owe as much more. So earlier requests delay a client for at most this
 * time.
 */
const BURST_SEC = 10;
/** Memory for addresses. The least recently active ones are dropped first. */
const MAX_BYTES = 1 << 20;
/** of an address: its allowance, its place in the map, and two bytes a character */
const ENTRY_BYTES = 160;

const bytesOf = (key: string): number => ENTRY_BYTES + 2 * key.length;

/**
 * The gas that clients burn with costly requests. Budgets decide the order of requests under load; without load, they delay none.
 */
export class GasBudgets {
  readonly #rates: GasRates;
  readonly #ofConnection: Rate;
  readonly #ofAddress: Rate;
  readonly #clock: { monotonicMs(): number };
  readonly #connections = new WeakMap<RequestContext, TokenBucket>();
  /** the one that burned last comes last */
  readonly #addresses = new Map<string, TokenBucket>();
  #bytes = 0;

  constructor(rates: GasRates, nowMs: () => number = () => performance.now()) {
    this.#rates = rates;
    this.#ofConnection = rateOf(rates.perConnection);
    this.#ofAddress = rateOf(rates.perAddress);
    this.#clock = { monotonicMs: nowMs };
  }

  /** how many addresses are remembered */
  get size(): number {
    return this.#addresses.size;
  }

  /** Counts gas that a client's requests have burned. @param gas Infinity: all that it has and may owe */
  charge(client: RequestContext, gas: number): void {
    if (gas === 0) return;
    const { perConnection, perAddress } = this.#rates;
    if (Number.isFinite(perConnection)) {
      let own = this.#connections.get(client);
      if (own === undefined) this.#connections.set(client, (own = new TokenBucket(this.#ofConnection, this.#clock)));
      own.spend(gas);
    }
    if (Number.isFinite(perAddress)) this.#lastUsed(clientOf(client.remoteAddress)).spend(gas);
  }

  /** Whether the connection has used up its budget. */
  isConnectionSpent(client: RequestContext): boolean {
    return isSpent(this.#connections.get(client));
  }

  /** Whether the address has. @param address as `clientOf` names it */
  isAddressSpent(address: string): boolean {
    return isSpent(this.#addresses.get(address));
  }

  /** For a rejected client: the exceeded budget, and until when; undefined: none. */
  shortage(client: RequestContext): string | undefined {
    const { perConnection, perAddress } = this.#rates;
    return (
      this.#shortageOf(this.#addresses.get(clientOf(client.remoteAddress)), perAddress, {
        whose: "your address",
        option: "--rpc.max-gas-per-address",
      }) ??
      this.#shortageOf(this.#connections.get(client), perConnection, {
        whose: "this connection",
        option: "--rpc.max-gas-per-connection",
      })
    );
  }

  #shortageOf(
    allowance: TokenBucket | undefined,
    gasPerSec: number,
    { whose, option }: { readonly whose: string; readonly option: string },
  ): string | undefined {
    const left = allowance?.left ?? 0;
    if (left >= 0) return undefined;
    const budget = gasPerSec * BURST_SEC;
    const waitSec = Math.ceil(-left / gasPerSec);
    return `${whose} has burned ${Math.round(budget - left)} gas of its budget of ${budget}, which fills by ${gasPerSec} a second (${option}), and others come first: try again in ${waitSec} s`;
  }

  #lastUsed(key: string): TokenBucket {
    let allowance = this.#addresses.get(key);
    if (allowance === undefined) {
      allowance = new TokenBucket(this.#ofAddress, this.#clock);
      this.#bytes += bytesOf(key);
    } else this.#addresses.delete(key);
    this.#addresses.set(key, allowance);
    for (const oldest of this.#addresses.keys()) {
      if (this.#bytes <= MAX_BYTES) break;
      this.#addresses.delete(oldest);
      this.#bytes -= bytesOf(oldest);
    }
    return allowance;
  }
}

const rateOf = (gasPerSec: number): Rate => ({
  perSec: gasPerSec,
  burst: gasPerSec * BURST_SEC,
  maxDebt: gasPerSec * BURST_SEC,
});

const isSpent = (allowance: TokenBucket | undefined): boolean => allowance !== undefined && allowance.left < 0;
