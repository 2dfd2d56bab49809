import { type Devnet, type L2Ref, rpcCall, type SyncStatus } from "@rnode/devnet";

const INTERVAL_MS = 150;
/** What a node that has not found its heads yet names. */
const UNKNOWN = `0x${"00".repeat(32)}`;

/** Compares each safe and finalized block that the verifier names with the sequencer's chain, which nobody lies to. */
export class SafeChainWatch {
  readonly #devnet: Devnet;
  readonly #timer: NodeJS.Timeout;
  #faults: string[] = [];
  #isLooking = false;
  readonly #seen = new Set<string>();

  constructor(devnet: Devnet) {
    this.#devnet = devnet;
    this.#timer = setInterval(() => void this.#look(), INTERVAL_MS);
  }

  /** What was found since the last time. */
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
      const status = await rpcCall<SyncStatus>(this.#devnet.info.endpoints.verifier.node, "rnode_syncStatus", [], 1000);
      await this.#compare("safe", status.safe_l2);
      await this.#compare("finalized", status.finalized_l2);
    } catch {
      // a node that does not answer names no block
    } finally {
      this.#isLooking = false;
    }
  }

  async #compare(label: string, { number, hash }: L2Ref): Promise<void> {
    if (hash === UNKNOWN) return;
    const key = `${label} ${number} ${hash}`;
    if (this.#seen.has(key)) return;
    const block = await rpcCall<{ hash: string } | null>(this.#devnet.info.endpoints.sequencer.http, "eth_getBlockByNumber", [
      `0x${number.toString(16)}`,
      false,
    ]);
    this.#seen.add(key);
    if (block?.hash !== hash) {
      this.#faults.push(`WRONG ${label} block ${number}: ${hash}, on the honest chain it is ${block?.hash ?? "not there"}`);
    }
  }
}
