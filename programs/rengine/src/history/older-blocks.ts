import { setImmediate } from "node:timers/promises";
import type { SenderSource } from "@rnode/chain";
import type { Logger } from "@rnode/observe";
import { Backoff, bytesToHex, type Clock } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import type { Block, ChainConfig } from "@rnode/protocol";
import { BlockChecks, type BlockRecord } from "@rnode/snapshot";
import type { ChainDatabase, OlderBlock } from "@rnode/storage";
import type { Blocks } from "../import-state/block-source.ts";
import { openBlocks } from "../import-state/open-blocks.ts";
import { describeError } from "../setup/describe-error.ts";
import { olderBlocksFrom } from "./older-blocks-note.ts";

export interface OlderBlocksDependencies {
  readonly store: Pick<ChainDatabase, "readMeta" | "retainedHistory" | "readCanonicalHash" | "readHeader" | "writeOlderBlocks">;
  readonly genesis: { readonly block: Block; readonly hash: Uint8Array };
  readonly config: ChainConfig;
  readonly senders: Pick<SenderSource, "recoverAhead">;
  /** for temporary files */
  readonly datadir: string;
  readonly log: Logger;
  readonly clock: Clock;
}

/** In one commit. */
const BATCH_BLOCKS = 32;
const PAUSES = { firstMs: 1_000, maxMs: 300_000 };
const REPORT_EVERY_MS = 30_000;

/**
 * Fetches the blocks below the oldest one, if an import noted where they are: from the newest to the oldest, each batch checked by the hash of
 * the block above it and written before the next. The work takes half of a core at most.
 *
 * @returns stops it
 */
export function startOlderBlocks(dependencies: OlderBlocksDependencies): () => Promise<void> {
  const source = olderBlocksFrom(dependencies.store);
  if (source === undefined) return async () => {};
  const ended = new AbortController();
  const running = new OlderBlocks(source, dependencies, ended.signal).run();
  return async () => {
    ended.abort();
    await running;
  };
}

class OlderBlocks {
  readonly #source: string;
  readonly #dependencies: OlderBlocksDependencies;
  readonly #signal: AbortSignal;
  #blocks: Blocks | undefined;
  #reportedMs: number;
  #reported: number | undefined;

  constructor(source: string, dependencies: OlderBlocksDependencies, signal: AbortSignal) {
    this.#source = source;
    this.#dependencies = dependencies;
    this.#signal = signal;
    this.#reportedMs = dependencies.clock.monotonicMs();
  }

  async run(): Promise<void> {
    const { log, clock } = this.#dependencies;
    const backoff = new Backoff(PAUSES);
    try {
      while (!this.#signal.aborted) {
        try {
          if (await this.#step()) return;
          backoff.reset();
        } catch (error) {
          if (this.#signal.aborted) return;
          const pauseMs = backoff.nextMs();
          log.warn("older blocks cannot be had", {
            from: this.#source,
            reason: describeError(error) ?? String(error),
            retryMs: pauseMs,
          });
          await clock.sleep(pauseMs, this.#signal);
        }
      }
    } finally {
      await this.#blocks?.close();
    }
  }

  /** Takes a batch. @returns whether no block is missing */
  async #step(): Promise<boolean> {
    const { store, genesis, datadir, log, clock } = this.#dependencies;
    const { firstBlock, oldestBlock } = store.retainedHistory()!;
    if (oldestBlock === firstBlock) {
      if (this.#reported !== undefined) log.info("all older blocks are there", { from: this.#source });
      return true;
    }
    this.#blocks ??= await openBlocks(this.#source, datadir, { progress: () => {} });
    const first = Math.max(firstBlock + 1, oldestBlock - BATCH_BLOCKS);
    const records = await this.#blocks.range(first, oldestBlock - 1);
    if (this.#signal.aborted) return true;
    const startMs = clock.monotonicMs();
    const { parentHash } = store.readHeader(store.readCanonicalHash(oldestBlock)!)!;
    const manifest = { genesis, hash: parentHash, oldestBlock: first };
    store.writeOlderBlocks(await this.#checked(records, manifest));
    this.#report(first, firstBlock);
    await clock.sleep(clock.monotonicMs() - startMs, this.#signal);
    return false;
  }

  async #checked(records: readonly BlockRecord[], manifest: ConstructorParameters<typeof BlockChecks>[1]): Promise<OlderBlock[]> {
    const { config, senders } = this.#dependencies;
    const { hasReceipts } = this.#blocks!;
    const checks = new BlockChecks(config, manifest, hasReceipts);
    const blocks: OlderBlock[] = [];
    for (const { block, receipts } of records) {
      const hash = checks.check({ block, receipts });
      const recovered = hasReceipts ? await senders.recoverAhead(block.transactions) : [];
      if (recovered === undefined)
        throw new UserError(`${this.#source}: a transaction of block ${block.header.number} ${bytesToHex(hash)} has no sender`);
      blocks.push({ block, hash, receipts, senders: recovered });
      await setImmediate();
    }
    checks.finish();
    return blocks;
  }

  #report(oldest: number, firstBlock: number): void {
    const { log, clock } = this.#dependencies;
    const now = clock.monotonicMs();
    this.#reported ??= oldest;
    if (now - this.#reportedMs < REPORT_EVERY_MS) return;
    const blocksPerSec = Math.round((1_000 * (this.#reported - oldest)) / (now - this.#reportedMs));
    this.#reported = oldest;
    this.#reportedMs = now;
    log.info("older blocks", { oldest, left: oldest - firstBlock - 1, blocksPerSec });
  }
}
