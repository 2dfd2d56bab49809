import { LruCache } from "@rnode/primitives";
import type { PeerFile } from "./peer-file.ts";

export interface Ban {
  /** a peer's public key, or an address */
  readonly who: string;
  readonly untilMs: number;
  readonly reason: string;
}

const MAX_BANS = 4_096;

/** Who is not talked to for now; kept over restarts. */
export class BanList {
  readonly #file: PeerFile<Ban>;
  readonly #bans = new LruCache<string, Ban>(MAX_BANS);

  constructor(file: PeerFile<Ban>, nowMs: number) {
    this.#file = file;
    for (const ban of file.load()) if (ban.untilMs > nowMs) this.#bans.set(ban.who, ban);
  }

  /** A ban that lasts longer is not shortened. */
  ban(who: string, untilMs: number, reason: string): void {
    const known = this.#bans.get(who);
    if (known !== undefined && known.untilMs >= untilMs) return;
    this.#bans.set(who, { who, untilMs, reason });
    this.#file.save([...this.#bans.values()]);
  }

  find(who: string, nowMs: number): Ban | undefined {
    const ban = this.#bans.get(who);
    return ban !== undefined && ban.untilMs > nowMs ? ban : undefined;
  }

  lift(who: string): void {
    if (this.#bans.delete(who)) this.#file.save([...this.#bans.values()]);
  }
}
