import { type MetricFactory, noMetrics } from "@rnode/observe";
import type { Hex } from "@rnode/primitives";
import type { BlockId, ChainConfig, DaBytes, Flashblock, PayloadAttributes, PayloadStatusV1, Transaction } from "@rnode/protocol";
import type { ChainDatabase, ChainStore, StateView } from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import type {
  BadBlock,
  BuildChoices,
  BuildResult,
  BuiltPayload,
  Chain,
  ExtendResult,
  ForcedBlock,
  ForkchoiceResult,
  ForkchoiceState,
  HeadChange,
  ImportItem,
  ImportOptions,
  ImportRefusal,
  PendingSource,
  StoredItem,
} from "./api.ts";
import { Building, payloadOf } from "./build/building.ts";
import { startBuild } from "./build/payload-builder.ts";
import { type BeginBuild, PayloadJobs, type PayloadJobsOptions } from "./build/payload-jobs.ts";
import { createChainMetrics } from "./chain-metrics.ts";
import type { ChainParts, PartsOptions, PartVerdict } from "./chain-parts.ts";
import { ChainView } from "./chain-view.ts";
import type { ExecutionContext, ParentState } from "./execute/block-execution.ts";
import { create2DeployerCodeFrom } from "./execute/create2-deployer-files.ts";
import { newEngine } from "./execute/engine-module.ts";
import { ExecutionLimit } from "./execute/execution-limit.ts";
import { ChainError } from "./faults.ts";
import { BlockExecutor } from "./fork-choice/block-executor.ts";
import { type BlockTreeLimits, DEFAULT_TREE_LIMITS } from "./fork-choice/block-tree.ts";
import { isCanonicalBlock } from "./fork-choice/canonical-blocks.ts";
import { Heads } from "./fork-choice/heads.ts";
import { SYNCING, updated } from "./fork-choice/payload-status.ts";
import { storedGenesisHash } from "./genesis/genesis.ts";
import { ChainImport } from "./import/chain-import.ts";
import { PendingExecutor } from "./pending/pending-executor.ts";
import type { PreparedBlock } from "./prepared-block.ts";
import { type ReadAhead, startReadAhead } from "./read-ahead/read-ahead.ts";
import { createSenderCache, type SenderSource } from "./senders/senders.ts";
import { type LiveRoots, startLiveRoots } from "./state-roots/live-roots.ts";
import { LiveStateTrie, MAX_STATE_TRIE_NODES, ROUGH_NODE_BYTES } from "./state-roots/live-state-trie.ts";
import { type RootStore, type StateRoots, startStateRoots } from "./state-roots/root-thread.ts";

export interface ChainDependencies {
  /**
   * must have its genesis (`initGenesis`). If it is a database, which a thread can open as well, a thread computes the state roots of
   * larger blocks
   */
  readonly store: ChainStore & Partial<Pick<ChainDatabase, "folder" | "pageReading">>;
  readonly config: ChainConfig;
  readonly senders?: SenderSource;
  readonly metrics?: MetricFactory;
  /** milliseconds; for the time limits of block building */
  readonly nowMs: () => number;
  /** computes state roots in parallel with execution; default: a thread, if there are enough cores */
  readonly liveRoots?: LiveRoots | undefined;
  /** prefetches the state of a block; default: threads, if the database is larger than the memory for it */
  readonly readAhead?: ReadAhead | undefined;
  /** changes what blocks are executed and built on; default: the state after the parent, as it is */
  readonly parentStateOf?: ((parent: ParentState) => ParentState) | undefined;
  /** computes state roots of the groups of an import; default: a thread */
  readonly startGroupRoots?: ((store: RootStore, stateRoot: Uint8Array) => StateRoots) | undefined;
}

export interface ChainOptions {
  /**
   * limit for the trie nodes kept in memory for the next blocks, some 300 bytes each, here or in the state-root thread; default:
   * 100,000
   */
  readonly maxStateTrieNodes?: number | undefined;
  readonly tree?: Partial<BlockTreeLimits>;
  /** limit for the decoded code that each of the two engines keeps across blocks */
  readonly codeCacheBytes?: number | undefined;
  readonly building?: PayloadJobsOptions;
  /** time limit of the first attempt to execute a block; 0: none. Default: none */
  readonly maxExecutionMs?: number | undefined;
  /** the folder with the Canyon bytecode bundle */
  readonly upgradesDir?: string | undefined;
}

/** @throws {CodedError} chain/no-genesis */
export function openChain(dependencies: ChainDependencies, options: ChainOptions = {}): Chain & ChainParts {
  return new StoredChain(dependencies, options);
}

/** Puts the parts of a chain together: execution, heads, building, import. */
export class StoredChain extends ChainView implements Chain, ChainParts {
  protected readonly blocks: BlockExecutor;
  protected readonly heads: Heads;
  protected readonly building: Building;
  readonly #store: ChainStore;
  readonly #jobs: PayloadJobs;
  readonly #importing: ChainImport;
  readonly #liveRoots: LiveRoots | undefined;
  readonly #readAhead: ReadAhead | undefined;
  readonly #pending: PendingExecutor;

  constructor(dependencies: ChainDependencies, options: ChainOptions = {}) {
    const { store, config, senders = createSenderCache(), nowMs, parentStateOf, startGroupRoots = startStateRoots } = dependencies;
    const { codeCacheBytes } = options;
    const genesisHash = storedGenesisHash(store);
    if (genesisHash === undefined) throw new ChainError("chain/no-genesis");
    const liveRoots = dependencies.liveRoots ?? startedRoots(store, options.maxStateTrieNodes);
    const readAhead = dependencies.readAhead ?? startReadAhead(store);
    const stateTrie = new LiveStateTrie(options.maxStateTrieNodes);
    const metrics = createChainMetrics(dependencies.metrics ?? noMetrics, {
      executed: () => blocks.memory.executed,
      removed: () => blocks.memory.removed,
      engines: () =>
        context.engine.memoryBytes + jobContext.engine.memoryBytes + executor.memoryBytes + this.#importing.memoryBytes,
      stateTrie: () => (stateTrie.nodeCount + (liveRoots?.nodeCount ?? 0)) * ROUGH_NODE_BYTES,
    });
    const limit = new ExecutionLimit(nowMs, options.maxExecutionMs ?? 0);
    const context: ExecutionContext = {
      config,
      engine: newEngine({ codeCacheBytes }),
      senders,
      create2DeployerCode: create2DeployerCodeFrom(options.upgradesDir),
      stateTrie, // also of open builds, because a built block is mostly the next one to be executed
      liveRoots,
    };
    // A build uses its engine across calls, so it has its own.
    const jobContext = { ...context, engine: newEngine({ codeCacheBytes }) };
    const begin: BeginBuild = (id, ...args) => limit.run(jobContext.engine, id, false, () => startBuild(jobContext, ...args));
    const jobs = new PayloadJobs(begin, nowMs, options.building);
    const parts = { context, store, config, limit, metrics, nowMs, readAhead, suspendBuilds: () => jobs.suspend("head-changed") };
    const executor = new PendingExecutor({
      context,
      newEngine: () => newEngine({ codeCacheBytes }),
      limit,
      head: () => this.heads.latest.hash,
      parentState: () => this.building.headState(),
    });
    const startedRun = ({ header, encodedTransactions }: PreparedBlock) =>
      executor.take(header.parentHash, header, encodedTransactions);
    const blocks = new BlockExecutor({ ...parts, parentStateOf, startedRun }, { ...DEFAULT_TREE_LIMITS, ...options.tree });
    const genesis = blocks.branches.storedBlock(genesisHash)!;
    super(config, genesis, store, blocks.branches);
    this.#store = store;
    this.#jobs = jobs;
    this.#liveRoots = liveRoots;
    this.#readAhead = readAhead;
    this.#pending = executor;
    this.blocks = blocks;
    this.heads = new Heads({ ...parts, blocks });
    this.building = new Building({ ...parts, blocks, heads: this.heads, jobs });
    this.#importing = new ChainImport({
      ...parts,
      blocks,
      heads: this.heads,
      senders,
      codeCacheBytes,
      genesisNumber: genesis.block.header.number,
      startRoots: (stateRoot) => startGroupRoots(store, stateRoot),
    });
  }

  stateAt({ hash, number }: BlockId): StateView | undefined {
    if (isCanonicalBlock(this.#store, hash, number)) return this.#store.stateAt(number);
    return this.#stateOf(hash)?.view;
  }

  trieNodesAt({ hash, number }: BlockId): TrieNodeReader | undefined {
    if (isCanonicalBlock(this.#store, hash, number)) return this.#store.trieNodesAt(number);
    return this.#stateOf(hash)?.nodes;
  }

  newPayload(block: PreparedBlock): PayloadStatusV1 {
    return this.blocks.knownVerdict(block) ?? (this.#importing.isRunning ? SYNCING : this.blocks.execute(block));
  }

  import<T extends ImportItem>(
    blocks: AsyncIterable<T> | Iterable<T>,
    options: ImportOptions<StoredItem<T>>,
  ): Promise<ImportRefusal | undefined> {
    return this.#importing.run(blocks, options);
  }

  readAhead(transactions: readonly Transaction[], senders: readonly Uint8Array[] | undefined): void {
    if (senders === undefined) this.#readAhead?.receivers(transactions);
    else this.#readAhead?.senders(transactions, senders);
  }

  preparedBlockOf(hash: Uint8Array): PreparedBlock | undefined {
    return this.blocks.preparedBlockOf(hash);
  }

  forkchoiceUpdated(state: ForkchoiceState, attributes: PayloadAttributes | undefined, version: 1 | 2 | 3): ForkchoiceResult {
    return this.#importing.isRunning ? updated(SYNCING) : this.building.choose(state, attributes, version);
  }

  extend(state: ForkchoiceState, wanted: readonly ForcedBlock[], limitMs: number): ExtendResult {
    if (this.#importing.isRunning) return { kind: "extended", status: SYNCING, blocks: [], refusal: undefined };
    return this.building.extend(state, wanted, limitMs);
  }

  getPayload(id: Hex): BuiltPayload | undefined {
    return this.building.finish(id);
  }

  buildBlock(parentHash: Uint8Array, attributes: PayloadAttributes, choices: BuildChoices = {}): BuildResult {
    const built = this.building.build(parentHash, attributes, choices);
    return built.kind === "built" ? { kind: "built", payload: payloadOf(built.executed) } : built;
  }

  setMaxDaSize(maxTransactionBytes: DaBytes, maxBlockBytes: DaBytes): void {
    this.#jobs.limits = { ...this.#jobs.limits, maxTransactionBytes, maxBlockBytes };
  }

  setGasLimit(maxBlockGas: bigint): void {
    this.#jobs.limits = { ...this.#jobs.limits, maxBlockGas };
  }

  setPendingSource(source: PendingSource): void {
    this.#jobs.source = source;
  }

  publishParts(options: PartsOptions): void {
    this.#jobs.partsOptions = options;
  }

  executePart(part: Flashblock): PartVerdict {
    return this.#pending.execute(part);
  }

  badBlocks(): readonly BadBlock[] {
    return this.blocks.badBlocks;
  }

  onHeadChange(listener: (change: HeadChange) => void): () => void {
    return this.heads.onChange(listener);
  }

  async close(): Promise<void> {
    await this.#importing.close();
    this.heads.close();
    await Promise.all([this.#liveRoots?.close(), this.#readAhead?.close()]);
    await this.#store.close();
  }

  #stateOf(hash: Hex): ReturnType<BlockExecutor["branches"]["stateOf"]> {
    const branch = this.blocks.branches.branchOf(hash);
    return branch === undefined ? undefined : this.blocks.branches.stateOf(branch);
  }
}

function startedRoots(store: ChainDependencies["store"], maxNodes = MAX_STATE_TRIE_NODES): LiveRoots | undefined {
  return store.folder === undefined ? undefined : startLiveRoots(store.folder, maxNodes);
}
