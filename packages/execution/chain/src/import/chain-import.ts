import type { EvmEngine } from "@rnode/evm";
import type { Block } from "@rnode/protocol";
import type { BlockGroup, ChainStore } from "@rnode/storage";
import type { ImportItem, ImportOptions, ImportRefusal, StoredItem } from "../api.ts";
import type { ChainMetrics } from "../chain-metrics.ts";
import { type ExecutionContext, runBlock } from "../execute/block-execution.ts";
import { newEngine } from "../execute/engine-module.ts";
import type { ExecutionLimit } from "../execute/execution-limit.ts";
import { ChainError } from "../faults.ts";
import type { BlockExecutor } from "../fork-choice/block-executor.ts";
import type { Heads } from "../fork-choice/heads.ts";
import type { PreparedBlock } from "../prepared-block.ts";
import type { ReadAhead } from "../read-ahead/read-ahead.ts";
import type { SenderSource } from "../senders/senders.ts";
import type { GroupRoots } from "../state-roots/group-roots.ts";
import type { StateRoots } from "../state-roots/root-thread.ts";
import { type ImportingChain, importBlocks } from "./block-import.ts";

export interface ChainImportDeps {
  readonly context: ExecutionContext;
  readonly store: ChainStore;
  readonly genesisNumber: number;
  readonly senders: SenderSource;
  readonly blocks: BlockExecutor;
  readonly heads: Heads;
  readonly limit: ExecutionLimit;
  readonly metrics: ChainMetrics;
  readonly nowMs: () => number;
  readonly readAhead: ReadAhead | undefined;
  readonly codeCacheBytes: number | undefined;
  readonly startRoots: (stateRoot: Uint8Array) => StateRoots;
  /** called before the head changes */
  readonly suspendBuilds: () => void;
}

/** Implements `Chain.import`: one at a time. */
export class ChainImport {
  readonly #deps: ChainImportDeps;
  /** executes the blocks */
  #engine: EvmEngine | undefined;
  /** settles when the import in progress ends */
  #running: Promise<unknown> | undefined;
  #isClosing = false;

  constructor(deps: ChainImportDeps) {
    this.#deps = deps;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** of its engine */
  get memoryBytes(): number {
    return this.#engine?.memoryBytes ?? 0;
  }

  async run<T extends ImportItem>(
    blocks: AsyncIterable<T> | Iterable<T>,
    options: ImportOptions<StoredItem<T>>,
  ): Promise<ImportRefusal | undefined> {
    if (this.#running !== undefined) throw new ChainError("chain/importing");
    const running = importBlocks(this.#chain(), blocks, options);
    this.#running = running;
    try {
      return await running;
    } finally {
      this.#running = undefined;
      this.#engine = undefined;
    }
  }

  /** Ends the import after the current block. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#running?.catch(() => undefined); // reported to the caller of the import
  }

  #chain(): ImportingChain {
    const { blocks, context, genesisNumber, heads, startRoots, store } = this.#deps;
    return {
      config: context.config,
      store,
      genesisNumber,
      isClosing: () => this.#isClosing,
      prepare: (block, known) => this.#prepare(block, known),
      headerOf: (hash) => blocks.branches.header(hash),
      newPayload: (block) => blocks.knownVerdict(block) ?? blocks.execute(block),
      choose: (headBlockHash) => heads.chooseHead(headBlockHash),
      runBlock: (parent, block) => this.#runBlock(parent, block),
      startRoots,
      commitGroup: (...of) => this.#commitGroup(...of),
      tellGroup: (...of) => heads.announceStored(...of),
    };
  }

  async #prepare(block: Block, known: Parameters<SenderSource["prepare"]>[1]): Promise<PreparedBlock> {
    const { readAhead, senders } = this.#deps;
    readAhead?.receivers(block.transactions);
    const prepared = await senders.prepare(block, known);
    if (prepared.senders !== undefined) readAhead?.senders(block.transactions, prepared.senders);
    return prepared;
  }

  /** An import has its own engine, because it uses the result of an execution after other methods may have run. */
  #runBlock(parent: Parameters<typeof runBlock>[1], block: PreparedBlock): ReturnType<typeof runBlock> {
    const { codeCacheBytes, context, limit, metrics, nowMs, readAhead } = this.#deps;
    const startMs = nowMs();
    const engine = (this.#engine ??= newEngine({ codeCacheBytes }));
    const outcome = limit.run(engine, block.hashHex, false, () => runBlock({ ...context, engine }, parent, block));
    if (outcome.kind === "run") {
      readAhead?.learn(block.block.transactions, outcome.senders, outcome.result.changes);
      metrics.execute.observe((nowMs() - startMs) / 1000, { verdict: "valid" });
    }
    return outcome; // an invalid block is executed again, on its own
  }

  #commitGroup(group: BlockGroup, { blocks: roots, nodeRows }: GroupRoots, isRun: boolean): void {
    const { blocks, context, metrics, store, suspendBuilds } = this.#deps;
    suspendBuilds();
    const stopTimer = metrics.commit.time();
    store.commitGroup(
      group,
      roots.map(({ storageRoots }) => storageRoots),
      nodeRows,
      isRun,
    );
    stopTimer();
    context.stateTrie?.clear(); // it holds the nodes of the head before the import
    blocks.trim();
  }
}
