import { type Clock, type Rate, TokenBucket } from "@rnode/primitives";

/** Lookups of ours take tens of packets a second, most of them answers. */
const PACKETS_OF_ADDRESS: Rate = { perSec: 20, burst: 60 };
const PACKETS_IN_ALL: Rate = { perSec: 500, burst: 1_000 };
/** A handshake costs milliseconds of elliptic curves. */
const HANDSHAKES_OF_ADDRESS: Rate = { perSec: 1, burst: 10 };
const HANDSHAKES_IN_ALL: Rate = { perSec: 20, burst: 40 };
/** number of stored addresses; beyond it, the least recently seen one is removed */
const MAX_ADDRESSES = 4_096;
const ANSWER_MS = 5_000;

interface Sender {
  readonly packets: TokenBucket;
  readonly handshakes: TokenBucket;
  /** until when an answer to a packet of ours may come */
  expectedUntilMs: number;
}

/**
 * Rate limits of packets. Expected answers count only for the limit of their address, not for the total, so a flood of other
 * packets does not block them.
 */
export class PacketLimiter {
  readonly #clock: Clock;
  readonly #senders = new Map<string, Sender>();
  readonly #packets: TokenBucket;
  readonly #handshakes: TokenBucket;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#packets = new TokenBucket(PACKETS_IN_ALL, clock);
    this.#handshakes = new TokenBucket(HANDSHAKES_IN_ALL, clock);
  }

  expectAnswer(ip: string): void {
    this.#sender(ip).expectedUntilMs = this.#clock.monotonicMs() + ANSWER_MS;
  }

  allows(ip: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const sender = this.#sender(ip);
    if (!sender.packets.take()) return false;
    return sender.expectedUntilMs >= nowMs || this.#packets.take();
  }

  allowsHandshake(ip: string): boolean {
    return this.#sender(ip).handshakes.take() && this.#handshakes.take();
  }

  #sender(ip: string): Sender {
    const known = this.#senders.get(ip);
    this.#senders.delete(ip);
    const sender = known ?? {
      packets: new TokenBucket(PACKETS_OF_ADDRESS, this.#clock),
      handshakes: new TokenBucket(HANDSHAKES_OF_ADDRESS, this.#clock),
      expectedUntilMs: 0,
    };
    this.#senders.set(ip, sender);
    if (this.#senders.size > MAX_ADDRESSES) this.#senders.delete(this.#senders.keys().next().value!);
    return sender;
  }
}
