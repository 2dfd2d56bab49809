import { type Devnet, type L2Ref, rpcCall, type SyncStatus } from "@rnode/devnet";
import type { VictimName } from "./victim.ts";

const INTERVAL_MS = 150;
/** The hash of a head that is not known yet. */
const UNKNOWN = `0x${"00".repeat(32)}`;

/** A verifier derives its chain somewhat later than the sequencer, but no later than this. */
const MOST_BEHIND_MS = 30_000;

/** Compares each safe and finalized block of the victim with the chain of the other node, which gets honest answers. */
export class SafeChainWatch {
  readonly #victimUrl: string;
  readonly #honestUrl: string;
  /** blocks that the honest chain did not have yet, and since when */
  readonly #missing = new Map<string, { readonly label: string; readonly ref: L2Ref; readonly sinceMs: number }>();
  readonly #timer: NodeJS.Timeout;
  #faults: string[] = [];
  #isLooking = false;
  readonly #seen = new Set<string>();

  constructor({ info }: Devnet, victim: VictimName) {
    this.#victimUrl = info.endpoints[victim].node;
    this.#honestUrl = info.endpoints[victim === "verifier" ? "sequencer" : "verifier"].http;
    this.#timer = setInterval(() => void this.#look(), INTERVAL_MS);
  }

  /** The errors found since the last call. */
  takeFaults(): string[] {
    const faults = this.#faults;
    this.#faults = [];
    return faults;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      for (const { label, ref } of this.#missing.values()) await this.#compare(label, ref);
      const status = await rpcCall<SyncStatus>(this.#victimUrl, "rnode_syncStatus", [], 1000);
      await this.#compare("safe", status.safe_l2);
      await this.#compare("finalized", status.finalized_l2);
    } catch {
      // a node that does not answer names no block
    } finally {
      this.#isLooking = false;
    }
  }

  async #compare(label: string, ref: L2Ref): Promise<void> {
    const { number, hash } = ref;
    if (hash === UNKNOWN) return;
    const key = `${label} ${number} ${hash}`;
    if (this.#seen.has(key)) return;
    const params = [`0x${number.toString(16)}`, false];
    const block = await rpcCall<{ hash: string } | null>(this.#honestUrl, "eth_getBlockByNumber", params);
    if (block === null) {
      const known = this.#missing.get(key) ?? { label, ref, sinceMs: performance.now() };
      this.#missing.set(key, known);
      if (performance.now() - known.sinceMs < MOST_BEHIND_MS) return;
    }
    this.#missing.delete(key);
    this.#seen.add(key);
    if (block?.hash !== hash) {
      this.#faults.push(`WRONG ${label} block ${number}: ${hash}, on the honest chain it is ${block?.hash ?? "not there"}`);
    }
  }
}
