import { type IpBytes, ipText, parseIp, type Rate, TokenBucket } from "@rnode/peering";
import { type Clock, LruCache } from "@rnode/primitives";

/** Connections that have not introduced themselves yet. */
const MAX_PENDING = 32;
const MAX_OF_ADDRESS = 8;
const ACCEPTS_OF_ADDRESS: Rate = { perSec: 2, burst: 10 };
/** A handshake costs about two milliseconds. */
const ACCEPTS: Rate = { perSec: 30, burst: 60 };
const MAX_ADDRESSES = 4_096;

/** One IPv4 address or IPv6 /64, which is what one subscriber has. */
export function subscriberOf(ip: string): string {
  const bytes: IpBytes | undefined = parseIp(ip);
  if (bytes === undefined) return ip;
  return bytes.length === 4 ? ipText(bytes) : ipText(Uint8Array.from(bytes, (byte, index) => (index < 8 ? byte : 0)));
}

/** Which inbound connections are talked to at all. */
export class InboundGate {
  readonly #clock: Clock;
  readonly #accepts: TokenBucket;
  readonly #ofAddress = new LruCache<string, TokenBucket>(MAX_ADDRESSES);
  readonly #open = new Map<string, number>();
  #pending = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#accepts = new TokenBucket(ACCEPTS, clock);
  }

  /** @returns undefined: not now. Otherwise to be called when the connection has introduced itself, and when it ends */
  admit(ip: string): { readonly introduced: () => void; readonly ended: () => void } | undefined {
    const subscriber = subscriberOf(ip);
    const open = this.#open.get(subscriber) ?? 0;
    if (this.#pending >= MAX_PENDING || open >= MAX_OF_ADDRESS) return undefined;
    let bucket = this.#ofAddress.get(subscriber);
    if (bucket === undefined) {
      bucket = new TokenBucket(ACCEPTS_OF_ADDRESS, this.#clock);
      this.#ofAddress.set(subscriber, bucket);
    }
    if (!bucket.take() || !this.#accepts.take()) return undefined;
    this.#pending++;
    this.#open.set(subscriber, open + 1);
    let isPending = true;
    let isOpen = true;
    const introduced = (): void => {
      if (isPending) this.#pending--;
      isPending = false;
    };
    const ended = (): void => {
      introduced();
      if (!isOpen) return;
      isOpen = false;
      const left = (this.#open.get(subscriber) ?? 1) - 1;
      if (left === 0) this.#open.delete(subscriber);
      else this.#open.set(subscriber, left);
    };
    return { introduced, ended };
  }
}
