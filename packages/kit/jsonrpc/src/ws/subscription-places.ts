import { clientOf } from "../limits/connection-places.ts";

/** One client address (for IPv6: /64) may have this part of all subscriptions. */
const CLIENT_PART = 1 / 4;

/** The subscriptions that a server may have, and each of its clients. */
export class SubscriptionPlaces {
  readonly #most: number;
  readonly #byClient = new Map<string, number>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get taken(): number {
    return this.#taken;
  }

  /** @returns whose limit is reached; `undefined`: the subscription may begin, and `giveBack` is called at its end */
  take(remoteAddress: string): "client" | "server" | undefined {
    const client = clientOf(remoteAddress);
    const own = this.#byClient.get(client) ?? 0;
    if (own + 1 > this.#most * CLIENT_PART) return "client";
    if (this.#taken >= this.#most) return "server";
    this.#byClient.set(client, own + 1);
    this.#taken++;
    return undefined;
  }

  giveBack(remoteAddress: string): void {
    const client = clientOf(remoteAddress);
    const own = this.#byClient.get(client) ?? 0;
    if (own > 1) this.#byClient.set(client, own - 1);
    else this.#byClient.delete(client);
    this.#taken--;
  }
}
