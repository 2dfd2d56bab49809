import type { SyncStatus } from "@rnode/node-clients";
import { errorText, type Logger } from "@rnode/observe";
import { Backoff, type Clock } from "@rnode/primitives";
import type { L2BlockRef } from "@rnode/protocol";
import type { L1Access } from "../l1/l1-access.ts";
import type { RollupNode } from "./rollup-access.ts";

export interface ResyncOptions {
  readonly pollIntervalMs: number;
  /** wait until the node has derived up to the L1 head, whichever account sent the last transactions */
  readonly waitNodeSync: boolean;
  /** own transactions further back in L1 than this are not waited for; 0: wait for all of them */
  readonly checkRecentTxsDepth: number;
}

export interface Resynced {
  /** it includes everything that this account has ever put on L1 */
  readonly safeHead: L2BlockRef;
  /** nonces below may still be taken by transactions of a previous process */
  readonly leftOverNonce: bigint;
}

export interface ResyncDeps {
  /** how long transactions in the pool may take to be included before they are replaced */
  readonly stuckAfterMs: number;
  readonly l1: Pick<L1Access, "head" | "nonce" | "nonceAt">;
  readonly node: Pick<RollupNode, "syncStatus">;
  /** the batcher's account */
  readonly address: Uint8Array;
  /**
   * Called with a nonce that another program used while this process sent nothing, so late that it cannot come from a previous
   * process.
   */
  readonly onForeignNonce?: ((nonce: bigint) => Promise<void>) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

const MAX_BACKOFF_MS = 30_000;
/** On an L1 that produces no blocks, the node's view must be unchanged for this long to be taken as final. */
const STANDSTILL_MS = 10_000;

/**
 * Waits until the node's safe head includes everything that this account has ever put on L1: publishing
 * from there neither omits nor repeats a block, whatever happened to the previous process.
 *
 * @returns undefined if the signal was aborted
 */
export async function resync(options: ResyncOptions, deps: ResyncDeps, signal: AbortSignal): Promise<Resynced | undefined> {
  const { clock, log } = deps;
  const wait = new NodeSync(options, deps);
  const backoff = new Backoff({ firstMs: 2 * options.pollIntervalMs, maxMs: MAX_BACKOFF_MS });
  while (!signal.aborted) {
    let pauseMs = options.pollIntervalMs;
    try {
      const safeHead = await wait.step();
      if (safeHead !== undefined) return { safeHead, leftOverNonce: wait.leftOverNonce };
      backoff.reset();
    } catch (error) {
      log.warn("waiting for L1 and the rollup node", { error: errorText(error) });
      pauseMs = backoff.nextMs();
    }
    await clock.sleep(pauseMs, signal);
  }
  return undefined;
}

/** Whether the node knows anything at all: right after its start it answers with zeros. */
export function isNodeReady(status: SyncStatus): boolean {
  const isZero = (hash: string): boolean => /^0x0*$/.test(hash);
  return ![status.headL1, status.currentL1, status.unsafeL2, status.safeL2].some(({ hash }) => isZero(hash));
}

class NodeSync {
  readonly #options: ResyncOptions;
  readonly #deps: ResyncDeps;
  /** the nonce up to which the node must have derived; undefined while transactions are in the pool */
  #targetNonce: bigint | undefined;
  leftOverNonce = 0n;
  /** nonces below were used, or in the pool, once a previous process could not send any more */
  #expectedNonce: bigint | undefined;
  /** of the chain when the pool was found empty */
  #nonceThen = 0n;
  readonly #startMs: number;
  /** L1 head at that time */
  #targetL1 = 0;
  #stuckSinceMs: number | undefined;
  #lastPoolNonce = 0n;
  #standstill: { readonly key: string; readonly sinceMs: number } | undefined;
  #lastLog = "";

  constructor(options: ResyncOptions, deps: ResyncDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#startMs = deps.clock.monotonicMs();
  }

  async step(): Promise<L2BlockRef | undefined> {
    if (this.#targetNonce === undefined && !(await this.#isPoolEmpty())) return undefined;
    const status = await this.#deps.node.syncStatus();
    if (!isNodeReady(status)) return this.#waiting("waiting for the rollup node to know both chains", {});
    const currentL1 = status.currentL1.number;
    if (this.#options.waitNodeSync && currentL1 < this.#targetL1) {
      return this.#waiting("waiting for the rollup node to reach the L1 head", { currentL1, targetL1: this.#targetL1 });
    }
    if (!(await this.#hasDerivedOwnTransactions(status))) {
      return this.#waiting("waiting for the rollup node to derive what was published before", { currentL1 });
    }
    if ((await this.#nonces()).latest <= this.#nonceThen) return status.safeL2;
    this.#targetNonce = undefined; // something was sent meanwhile, which must be derived, too
    return undefined;
  }

  async #nonces(): Promise<{ latest: bigint; pending: bigint }> {
    const { l1, address, clock, onForeignNonce, stuckAfterMs } = this.#deps;
    const [latest, pending] = await Promise.all([l1.nonce(address, "latest"), l1.nonce(address, "pending")]);
    const expected = latest > pending ? latest : pending;
    if (clock.monotonicMs() - this.#startMs >= stuckAfterMs) this.#expectedNonce ??= expected;
    if (this.#expectedNonce !== undefined && latest > this.#expectedNonce) {
      await onForeignNonce?.(latest - 1n);
      this.#expectedNonce = expected;
    }
    return { latest, pending };
  }

  /** A previous process's transactions in the pool would be included after the state that is read now. */
  async #isPoolEmpty(): Promise<boolean> {
    const { l1, clock, log } = this.#deps;
    const { latest, pending } = await this.#nonces();
    if (pending > latest) {
      const now = clock.monotonicMs();
      if (latest !== this.#lastPoolNonce || this.#stuckSinceMs === undefined) this.#stuckSinceMs = now;
      this.#lastPoolNonce = latest;
      if (now - this.#stuckSinceMs < this.#deps.stuckAfterMs) {
        this.#waiting("waiting for transactions that were sent before", { count: pending - latest });
        return false;
      }
      this.leftOverNonce = pending;
      // Their nonces are used again: either they or their replacements are included, never both.
      log.warn("transactions that were sent before are not included: replacing them", { count: pending - latest });
    }
    const head = await l1.head();
    this.#nonceThen = latest;
    this.#targetNonce = await this.#nonceToWaitFor(latest, head.number);
    this.#targetL1 = head.number;
    return true;
  }

  async #nonceToWaitFor(latest: bigint, headNumber: number): Promise<bigint> {
    const depth = this.#options.checkRecentTxsDepth;
    if (depth === 0) return latest;
    const { l1, address } = this.#deps;
    const before = await l1.nonceAt(address, Math.max(0, headNumber - depth));
    return before === latest ? 0n : latest;
  }

  async #hasDerivedOwnTransactions(status: SyncStatus): Promise<boolean> {
    const { l1, address } = this.#deps;
    const target = this.#targetNonce ?? 0n;
    const currentL1 = status.currentL1.number;
    // The nonce after the parent block: only then is nothing of it left to derive, whatever the node means by its current L1 block.
    const derived = await l1.nonceAt(address, Math.max(0, currentL1 - 1));
    if (derived === undefined) return currentL1 > this.#targetL1;
    if (derived >= target) return true;
    if (((await l1.nonceAt(address, currentL1)) ?? 0n) < target) return false;
    return this.#standsStill(`${status.currentL1.hash} ${status.headL1.hash} ${status.safeL2.hash}`);
  }

  #standsStill(key: string): boolean {
    const now = this.#deps.clock.monotonicMs();
    if (this.#standstill?.key !== key) this.#standstill = { key, sinceMs: now };
    return now - this.#standstill.sinceMs >= STANDSTILL_MS;
  }

  #waiting(text: string, fields: Record<string, number | bigint>): undefined {
    if (text !== this.#lastLog) this.#deps.log.info(text, fields);
    this.#lastLog = text;
    return undefined;
  }
}
