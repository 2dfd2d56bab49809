import { type IpBytes, ipText, parseIp } from "@rnode/peering";
import { type Clock, LruCache, type Rate, TokenBucket } from "@rnode/primitives";

/** Connections without any data yet. They cost only a socket each, so the limit is high, and a new one replaces the oldest. */
const MAX_SILENT = 512;
/** Connections whose handshake is under way. */
const MAX_PENDING = 32;
const MAX_OF_ADDRESS = 8;
const ACCEPTS_OF_ADDRESS: Rate = { perSec: 2, burst: 10 };
/** A handshake costs about two milliseconds. */
const ACCEPTS: Rate = { perSec: 30, burst: 60 };
const MAX_ADDRESSES = 4_096;

/** One IPv4 address or IPv6 /64, the network of one subscriber. */
export function subscriberOf(ip: string): string {
  const bytes: IpBytes | undefined = parseIp(ip);
  if (bytes === undefined) return ip;
  return bytes.length === 4 ? ipText(bytes) : ipText(Uint8Array.from(bytes, (byte, index) => (index < 8 ? byte : 0)));
}

/** An inbound connection on its way to become a peer. */
export interface InboundPlace {
  /** Call it when the connection has sent data that needs an answer. @returns false: not now */
  readonly heard: () => boolean;
  /** Call it after the handshake. */
  readonly introduced: () => void;
  /** Call it when the connection ends. */
  readonly ended: () => void;
}

/**
 * Admits inbound connections. A flood of silent connections does not block honest peers: only a connection with data takes a
 * handshake slot, and it is replaced only after MAX_SILENT later connections.
 */
export class InboundGate {
  readonly #clock: Clock;
  readonly #accepts: TokenBucket;
  readonly #ofAddress = new LruCache<string, TokenBucket>(MAX_ADDRESSES);
  readonly #open = new Map<string, number>();
  /** closes each connection, oldest first */
  readonly #silent = new Set<() => void>();
  #pending = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#accepts = new TokenBucket(ACCEPTS, clock);
  }

  /** @param drop closes the connection when its place is needed. @returns `undefined`: refused */
  admit(ip: string, drop: () => void): InboundPlace | undefined {
    const subscriber = subscriberOf(ip);
    const open = this.#open.get(subscriber) ?? 0;
    if (open >= MAX_OF_ADDRESS) return undefined;
    let bucket = this.#ofAddress.get(subscriber);
    if (bucket === undefined) {
      bucket = new TokenBucket(ACCEPTS_OF_ADDRESS, this.#clock);
      this.#ofAddress.set(subscriber, bucket);
    }
    if (!bucket.take()) return undefined;
    this.#open.set(subscriber, open + 1);
    let isPending = false;
    let isOpen = true;
    const introduced = (): void => {
      if (isPending) this.#pending--;
      isPending = false;
    };
    const heard = (): boolean => {
      if (!this.#silent.delete(dropSilent) || this.#pending >= MAX_PENDING || !this.#accepts.take()) return false;
      this.#pending++;
      isPending = true;
      return true;
    };
    const ended = (): void => {
      this.#silent.delete(dropSilent);
      introduced();
      if (!isOpen) return;
      isOpen = false;
      const left = (this.#open.get(subscriber) ?? 1) - 1;
      if (left === 0) this.#open.delete(subscriber);
      else this.#open.set(subscriber, left);
    };
    const dropSilent = (): void => {
      ended();
      drop();
    };
    this.#silent.add(dropSilent);
    if (this.#silent.size > MAX_SILENT) {
      const [dropOldest] = this.#silent;
      dropOldest!();
    }
    return { heard, introduced, ended };
  }
}
