import type { Clock } from "@rnode/primitives";

interface Quota {
  readonly perSec: number;
  readonly burst: number;
}

/** Lookups of ours take tens of packets a second, most of them answers. */
const PACKETS_OF_ADDRESS: Quota = { perSec: 20, burst: 60 };
const PACKETS_IN_ALL: Quota = { perSec: 500, burst: 1_000 };
/** A handshake costs milliseconds of elliptic curves. */
const HANDSHAKES_OF_ADDRESS: Quota = { perSec: 1, burst: 10 };
const HANDSHAKES_IN_ALL: Quota = { perSec: 20, burst: 40 };
/** addresses that are remembered; beyond, the one seen longest ago is forgotten */
const MAX_ADDRESSES = 4_096;
const ANSWER_MS = 5_000;

class Bucket {
  readonly #quota: Quota;
  #tokens: number;
  #atMs: number;

  constructor(quota: Quota, nowMs: number) {
    this.#quota = quota;
    this.#tokens = quota.burst;
    this.#atMs = nowMs;
  }

  take(nowMs: number): boolean {
    this.#tokens = Math.min(this.#quota.burst, this.#tokens + (Math.max(0, nowMs - this.#atMs) / 1_000) * this.#quota.perSec);
    this.#atMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}

interface Sender {
  readonly packets: Bucket;
  readonly handshakes: Bucket;
  /** until when an answer to a packet of ours may come */
  expectedUntilMs: number;
}

/**
 * How many packets are looked at. Those we wait for have their share of the address, but need none of the whole: a flood of others does
 * not cut us off.
 */
export class PacketLimiter {
  readonly #clock: Clock;
  readonly #senders = new Map<string, Sender>();
  readonly #packets: Bucket;
  readonly #handshakes: Bucket;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#packets = new Bucket(PACKETS_IN_ALL, clock.nowMs());
    this.#handshakes = new Bucket(HANDSHAKES_IN_ALL, clock.nowMs());
  }

  expectAnswer(ip: string): void {
    this.#sender(ip).expectedUntilMs = this.#clock.nowMs() + ANSWER_MS;
  }

  allows(ip: string): boolean {
    const nowMs = this.#clock.nowMs();
    const sender = this.#sender(ip);
    if (!sender.packets.take(nowMs)) return false;
    return sender.expectedUntilMs >= nowMs || this.#packets.take(nowMs);
  }

  allowsHandshake(ip: string): boolean {
    const nowMs = this.#clock.nowMs();
    return this.#sender(ip).handshakes.take(nowMs) && this.#handshakes.take(nowMs);
  }

  #sender(ip: string): Sender {
    const nowMs = this.#clock.nowMs();
    const known = this.#senders.get(ip);
    this.#senders.delete(ip);
    const sender = known ?? {
      packets: new Bucket(PACKETS_OF_ADDRESS, nowMs),
      handshakes: new Bucket(HANDSHAKES_OF_ADDRESS, nowMs),
      expectedUntilMs: 0,
    };
    this.#senders.set(ip, sender);
    if (this.#senders.size > MAX_ADDRESSES) this.#senders.delete(this.#senders.keys().next().value!);
    return sender;
  }
}
