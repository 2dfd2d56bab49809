import type { EvmEngine } from "@rnode/evm";
import { type MetricFactory, noMetrics } from "@rnode/observe";
import { bytesToHex, type Hex, hexToBytes, isCodedError, isZeroBytes, ZERO_HASH } from "@rnode/primitives";
import {
  type Block,
  type BlockId,
  type ChainConfig,
  type DaBytes,
  type Header,
  type PayloadAttributes,
  type PayloadStatusV1,
  payloadId,
  type Transaction,
} from "@rnode/protocol";
import type { BlockGroup, BlockParts, ChainDatabase, ChainStore, Labels, StateView } from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import type {
  BadBlock,
  BlockSelector,
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
  StoredBlock,
  StoredItem,
} from "./api.ts";
import { type BuildStart, startBuild, UNLIMITED_TIME } from "./build/payload-builder.ts";
import { PayloadJobs, type PayloadJobsOptions } from "./build/payload-jobs.ts";
import { type ChainMetrics, createChainMetrics } from "./chain-metrics.ts";
import { type ExecutionContext, executeBlock, type ParentState, runBlock } from "./execute/block-execution.ts";
import { create2DeployerCodeFrom } from "./execute/create2-deployer-files.ts";
import { newEngine } from "./execute/engine-module.ts";
import { type ExecutedBlock, storedBlockOf } from "./execute/executed-block.ts";
import { ExecutionLimit } from "./execute/execution-limit.ts";
import { EditedState, type StateEdits } from "./execute/state-edits.ts";
import { blockFault, ChainError, describeFault } from "./faults.ts";
import { BlockTree, type BlockTreeLimits, DEFAULT_TREE_LIMITS } from "./fork-choice/block-tree.ts";
import { type Branch, Branches } from "./fork-choice/branches.ts";
import { hashOfSelector, isCanonicalBlock } from "./fork-choice/canonical-blocks.ts";
import { InvalidBlocks } from "./fork-choice/invalid-blocks.ts";
import { changedLabels, checkLabels } from "./fork-choice/labels.ts";
import { RemovedBlocks } from "./fork-choice/removed-blocks.ts";
import { storedGenesisHash } from "./genesis/genesis.ts";
import { LazyHeadChange } from "./head-change.ts";
import { type ImportingChain, importBlocks } from "./import/block-import.ts";
import { PreparedBlock } from "./prepared-block.ts";
import { type ReadAhead, startReadAhead } from "./read-ahead/read-ahead.ts";
import { createSenderCache, type SenderSource } from "./senders/senders.ts";
import type { GroupRoots } from "./state-roots/group-roots.ts";
import { type LiveRoots, startLiveRoots } from "./state-roots/live-roots.ts";
import { LiveStateTrie, MAX_STATE_TRIE_NODES, ROUGH_NODE_BYTES } from "./state-roots/live-state-trie.ts";
import { type RootStore, type StateRoots, startStateRoots } from "./state-roots/root-thread.ts";
import { checkBodyBelongs } from "./validation/body-validation.ts";
import { rulesOfBlock } from "./validation/rules.ts";

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
  /** reads what a block will touch; default: threads, if the database is larger than the memory for it */
  readonly readAhead?: ReadAhead | undefined;
  /** of a development chain: what was set by hand in the state after a block */
  readonly editsAfter?: ((blockHash: Hex) => StateEdits | undefined) | undefined;
  /** of a forked chain: the root of the tries that the store has after a block; default: the block's state root */
  readonly trieRootOf?: ((header: Header) => Uint8Array) | undefined;
  /** the same for the groups of an import */
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
export function openChain(dependencies: ChainDependencies, options: ChainOptions = {}): Chain {
  return new StoredChain(dependencies, options);
}

class StoredChain implements Chain {
  readonly config: ChainConfig;
  readonly genesis: StoredBlock;
  readonly #store: ChainStore;
  readonly #context: ExecutionContext;
  readonly #senders: SenderSource;
  readonly #tree: BlockTree;
  /** blocks in the tree that were built here for somebody, and not from what L1 or a peer has */
  readonly #built = new WeakSet<ExecutedBlock>();
  readonly #branches: Branches;
  readonly #invalid = new InvalidBlocks();
  readonly #removedBlocks = new RemovedBlocks();
  readonly #jobs: PayloadJobs;
  readonly #listeners = new Set<(change: HeadChange) => void>();
  /** time spent on blocks since the head last changed */
  #spentMs = 0;
  readonly #metrics: ChainMetrics;
  readonly #nowMs: () => number;
  readonly #liveRoots: LiveRoots | undefined;
  readonly #readAhead: ReadAhead | undefined;
  readonly #editsAfter: (blockHash: Hex) => StateEdits | undefined;
  readonly #startGroupRoots: (stateRoot: Uint8Array) => StateRoots;
  readonly #codeCacheBytes: number | undefined;
  readonly #limit: ExecutionLimit;
  /** the engine that executes the blocks of an import */
  #importEngine: EvmEngine | undefined;
  /** settles when the import in progress ends */
  #importing: Promise<unknown> | undefined;
  #isClosing = false;

  constructor(dependencies: ChainDependencies, options: ChainOptions) {
    const { store, config, senders = createSenderCache(), metrics = noMetrics, nowMs, liveRoots } = dependencies;
    this.#senders = senders;
    const genesisHash = storedGenesisHash(store);
    if (genesisHash === undefined) throw new ChainError("chain/no-genesis");
    this.config = config;
    this.#store = store;
    this.#editsAfter = dependencies.editsAfter ?? (() => undefined);
    this.#metrics = createChainMetrics(metrics, {
      executed: () => this.#tree.bytes,
      removed: () => this.#removedBlocks.bytes,
      engines: () => this.#context.engine.memoryBytes + buildContext.engine.memoryBytes + (this.#importEngine?.memoryBytes ?? 0),
      stateTrie: () => (stateTrie.nodeCount + (this.#liveRoots?.nodeCount ?? 0)) * ROUGH_NODE_BYTES,
    });
    this.#nowMs = nowMs;
    const create2DeployerCode = create2DeployerCodeFrom(options.upgradesDir);
    const { codeCacheBytes } = options;
    this.#codeCacheBytes = codeCacheBytes;
    this.#limit = new ExecutionLimit(nowMs, options.maxExecutionMs ?? 0);
    this.#liveRoots = liveRoots ?? startedRoots(store, options.maxStateTrieNodes);
    this.#readAhead = dependencies.readAhead ?? startReadAhead(store);
    const { startGroupRoots = startStateRoots } = dependencies;
    this.#startGroupRoots = (stateRoot) => startGroupRoots(store, stateRoot);
    const stateTrie = new LiveStateTrie(options.maxStateTrieNodes); // shared by building and execution, because a built block is mostly the next one to be executed
    const buildContext: ExecutionContext = {
      config,
      engine: newEngine({ codeCacheBytes }),
      senders,
      create2DeployerCode,
      stateTrie,
      liveRoots: this.#liveRoots,
    };
    this.#context = { ...buildContext, engine: newEngine({ codeCacheBytes }) };
    this.#tree = new BlockTree({ ...DEFAULT_TREE_LIMITS, ...options.tree }, (hash, number) =>
      isCanonicalBlock(store, hash, number),
    );
    this.#branches = new Branches(store, this.#tree, dependencies.trieRootOf);
    // A build keeps its engine busy between calls, so it has one of its own.
    this.#jobs = new PayloadJobs(buildContext, nowMs, this.#limit, options.building);
    this.genesis = this.#branches.storedBlock(genesisHash)!;
  }

  head(): BlockId {
    return this.#store.head()!;
  }

  resolve(selector: BlockSelector): StoredBlock | undefined {
    const hash = this.#hashOf(selector);
    return hash === undefined ? undefined : this.#branches.storedBlock(hash);
  }

  partsOf(selector: BlockSelector): BlockParts | undefined {
    const hash = this.#hashOf(selector);
    return hash === undefined ? undefined : this.#branches.partsOf(hash);
  }

  bodyOf(selector: BlockSelector): { block: Block; hash: Uint8Array } | undefined {
    const hash = this.#hashOf(selector);
    const block = hash && this.#branches.block(hash);
    return hash === undefined || block === undefined ? undefined : { block, hash };
  }

  headerOf(selector: BlockSelector): { header: Header; hash: Uint8Array } | undefined {
    const hash = this.#hashOf(selector);
    const header = hash && this.#branches.header(hash);
    return hash === undefined || header === undefined ? undefined : { header, hash };
  }

  stateAt(block: BlockId): StateView | undefined {
    const view = this.#viewAt(block);
    const edits = view && this.#editsAfter(block.hash);
    return edits === undefined ? view : new EditedState(view!, edits);
  }

  #viewAt({ hash, number }: BlockId): StateView | undefined {
    if (isCanonicalBlock(this.#store, hash, number)) return this.#store.stateAt(number);
    const branch = this.#branches.branchOf(hash);
    return branch === undefined ? undefined : this.#branches.stateOf(branch)?.view;
  }

  trieNodesAt({ hash, number }: BlockId): TrieNodeReader | undefined {
    if (isCanonicalBlock(this.#store, hash, number)) return this.#store.trieNodesAt(number);
    const branch = this.#branches.branchOf(hash);
    return branch === undefined ? undefined : this.#branches.stateOf(branch)?.nodes;
  }

  newPayload(block: PreparedBlock): PayloadStatusV1 {
    const known = this.#knownVerdict(block);
    if (known !== undefined) return known;
    return this.#importing === undefined ? this.#execute(block) : SYNCING;
  }

  /** @returns undefined if the block has to be executed */
  #knownVerdict(block: PreparedBlock): PayloadStatusV1 | undefined {
    const { header, hash, hashHex } = block;
    const known = this.#invalid.get(hashHex);
    if (known !== undefined) return invalidStatus(known.latestValidHash, describeFault(known.fault));
    if (!this.#branches.isExecuted(hashHex, hash)) return undefined;
    const foreignBody = checkBodyBelongs(rulesOfBlock(this.config, header), block);
    if (foreignBody !== undefined) return invalidStatus(bytesToHex(header.parentHash), describeFault(foreignBody));
    return { status: "VALID", latestValidHash: hashHex };
  }

  readAhead(transactions: readonly Transaction[], senders: readonly Uint8Array[] | undefined): void {
    if (senders === undefined) this.#readAhead?.receivers(transactions);
    else this.#readAhead?.senders(transactions, senders);
  }

  preparedBlockOf(hash: Uint8Array): PreparedBlock | undefined {
    return this.#tree.get(bytesToHex(hash))?.prepared;
  }

  forkchoiceUpdated(state: ForkchoiceState, attributes: PayloadAttributes | undefined, version: 1 | 2 | 3): ForkchoiceResult {
    if (this.#importing !== undefined) return updated(SYNCING);
    const chosen = this.#choose(state);
    const headHash = state.headBlockHash;
    const headHex = bytesToHex(headHash);
    const isHead = chosen.kind === "updated" && chosen.status.status === "VALID" && this.head().hash === headHex;
    if (attributes === undefined || !isHead) return chosen;

    const parent = this.#parentState(headHex, headHash);
    if (parent === undefined) throw new Error(`no state at the head ${headHex}`); // the head's state is always there
    const stopTimer = this.#metrics.start.time();
    const started = this.#jobs.start(parent, attributes, version);
    stopTimer();
    if (started.kind === "invalid") return { kind: "invalid-attributes", ...started.problem };
    return { kind: "updated", status: chosen.status, payloadId: started.id };
  }

  /** Moves the head and the labels. */
  #choose(state: ForkchoiceState): Exclude<ForkchoiceResult, { kind: "invalid-attributes" }> {
    const headHash = state.headBlockHash;
    const headHex = bytesToHex(headHash);
    if (isZeroBytes(headHash)) return updated(invalidStatus(null, "head block hash is zero"));
    const known = this.#invalid.get(headHex);
    if (known !== undefined) return updated(invalidStatus(known.latestValidHash, describeFault(known.fault)));
    const branch = this.#branches.branchOf(headHex) ?? this.#reexecuted(headHash);
    if (branch === undefined) return updated(SYNCING);

    const labels = checkLabels(this.#store, state, branch, (hash) => this.#branches.header(hash)?.number);
    if (labels.kind === "invalid-state") return labels;
    const valid: PayloadStatusV1 = { status: "VALID", latestValidHash: headHex };
    const isRewind = branch.blocks.length === 0 && branch.forkPoint.hash !== this.head().hash;
    // An Ethereum chain ignores a head that is an ancestor of its own; an OP Stack chain goes back to it. Spec:
    // docs/protocol/01-execution.md#engine-semantics
    if (isRewind && this.config.optimism === undefined) return updated(valid);
    if (this.#isTooDeep(branch.forkPoint)) return { kind: "invalid-state", reason: "reorganisation-too-deep" };
    this.#moveHead(branch, labels.labels);
    return updated(valid);
  }

  async import<T extends ImportItem>(
    blocks: AsyncIterable<T> | Iterable<T>,
    options: ImportOptions<StoredItem<T>>,
  ): Promise<ImportRefusal | undefined> {
    if (this.#importing !== undefined) throw new ChainError("chain/importing");
    const importing = importBlocks(this.#importingChain(), blocks, options);
    this.#importing = importing;
    try {
      return await importing;
    } finally {
      this.#importing = undefined;
      this.#importEngine = undefined;
    }
  }

  #importingChain(): ImportingChain {
    return {
      config: this.config,
      store: this.#store,
      genesisNumber: this.genesis.block.header.number,
      isClosing: () => this.#isClosing,
      prepare: (block, known) => this.#prepareImported(block, known),
      headerOf: (hash) => this.#branches.header(hash),
      newPayload: (block) => this.#knownVerdict(block) ?? this.#execute(block),
      choose: (headBlockHash) => {
        const chosen = this.#choose({ headBlockHash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH });
        if (chosen.kind === "invalid-state") return chosen.reason;
        return chosen.status.status === "VALID" ? undefined : chosen.status.status;
      },
      runBlock: this.#runImported,
      startRoots: this.#startGroupRoots,
      commitGroup: (group, roots) => this.#commitGroup(group, roots),
      tellGroup: (hashes) => this.#tellGroup(hashes),
    };
  }

  async #prepareImported(block: Block, known: Parameters<SenderSource["prepare"]>[1]): Promise<PreparedBlock> {
    this.#readAhead?.receivers(block.transactions);
    const prepared = await this.#senders.prepare(block, known);
    if (prepared.senders !== undefined) this.#readAhead?.senders(block.transactions, prepared.senders);
    return prepared;
  }

  /** An import has an engine of its own, because the outcome of an execution is used after other methods may have been called. */
  readonly #runImported: ImportingChain["runBlock"] = (parent, block) => {
    const startMs = this.#nowMs();
    const engine = (this.#importEngine ??= newEngine({ codeCacheBytes: this.#codeCacheBytes }));
    const outcome = this.#limit.run(engine, block.hashHex, false, () => runBlock({ ...this.#context, engine }, parent, block));
    if (outcome.kind === "run") {
      this.#readAhead?.learn(block.block.transactions, outcome.senders, outcome.result.changes);
      this.#metrics.execute.observe((this.#nowMs() - startMs) / 1000, { verdict: "valid" });
    }
    return outcome; // an invalid block is executed again, on its own
  };

  #commitGroup(group: BlockGroup, { blocks, nodeRows }: GroupRoots): void {
    this.#jobs.suspend();
    const stopTimer = this.#metrics.commit.time();
    this.#store.commitGroup(
      group,
      blocks.map(({ storageRoots }) => storageRoots),
      nodeRows,
    );
    stopTimer();
    this.#context.stateTrie?.clear(); // its nodes belong to a head from long ago
    this.#tree.trim(this.head().number, this.head().hash);
  }

  #tellGroup(hashes: readonly Uint8Array[]): void {
    if (this.#listeners.size === 0) return;
    const change = new LazyHeadChange([], hashes, {
      head: () => this.#branches.storedBlock(hexToBytes(this.head().hash))!,
      block: (hash) => this.#branches.storedBlock(hash),
      miss: () => undefined,
    });
    for (const listener of this.#listeners) listener(change);
  }

  extend(state: ForkchoiceState, wanted: readonly ForcedBlock[], limitMs: number): ExtendResult {
    if (this.#importing !== undefined) return { kind: "extended", status: SYNCING, blocks: [], refusal: undefined };
    const chosen = this.#choose(state);
    if (chosen.kind === "invalid-state") return chosen;
    const { status } = chosen;
    const isHead = status.status === "VALID" && this.head().hash === bytesToHex(state.headBlockHash);
    if (!isHead) return { kind: "extended", status, blocks: [], refusal: undefined };
    this.#jobs.suspend();
    const deadlineMs = this.#nowMs() + limitMs;
    const blocks: PreparedBlock[] = [];
    let refusal: Extract<ExtendResult, { kind: "extended" }>["refusal"];
    let tip = state.headBlockHash;
    const commit = (): void => {
      const branch = this.#branches.branchOf(bytesToHex(tip));
      if (branch === undefined) throw new Error(`the block ${bytesToHex(tip)} that was built is gone`);
      this.#moveHead(branch, {});
    };
    for (const { attributes, transactions } of wanted) {
      const parent = this.#parentState(bytesToHex(tip), tip);
      if (parent === undefined) throw new Error(`no state at the head ${bytesToHex(tip)}`); // the head's state is always there
      const startMs = performance.now();
      const stopTimer = this.#metrics.extend.time();
      let started: BuildStart;
      try {
        started = this.#limit.run(this.#context.engine, payloadId(tip, attributes, EXTENSION_VERSION), false, () =>
          startBuild(this.#context, parent, attributes, {}, transactions),
        );
      } catch (error) {
        if (blocks.length === 0 || !isCodedError(error, "chain/execution-too-long")) throw error;
        break; // the next call begins with it
      }
      if (started.kind === "invalid") {
        refusal = started.problem;
        break;
      }
      const executed = started.build.seal();
      stopTimer();
      this.#spentMs += performance.now() - startMs;
      this.#tree.add(executed, this.head().number);
      blocks.push(executed.prepared);
      tip = executed.hash;
      if (blocks.length % BLOCKS_PER_COMMIT === 0) commit();
      if (this.#nowMs() >= deadlineMs) break;
    }
    if (blocks.length % BLOCKS_PER_COMMIT !== 0) commit();
    return { kind: "extended", status, blocks, refusal };
  }

  getPayload(id: Hex): BuiltPayload | undefined {
    const startMs = performance.now();
    const stopTimer = this.#metrics.finish.time();
    const executed = this.#jobs.finish(id);
    stopTimer();
    this.#spentMs += performance.now() - startMs;
    if (executed === undefined) return undefined;
    this.#tree.add(executed, this.head().number); // it comes back through newPayload, and is then not executed again
    this.#built.add(executed);
    const { block, hash, tipsWei, requests } = executed;
    return { block, hash, value: tipsWei, requests };
  }

  buildBlock(parentHash: Uint8Array, attributes: PayloadAttributes, choices: BuildChoices = {}): BuildResult {
    const parent = this.#parentState(bytesToHex(parentHash), parentHash);
    if (parent === undefined) return { kind: "unknown-parent" };
    const started = startBuild(this.#context, parent, attributes, choices);
    if (started.kind === "invalid") return { kind: "invalid-attributes", ...started.problem };
    const { build } = started;
    const { source, limits } = this.#jobs;
    if (build.usesPool && source !== undefined) build.fill(source, limits, UNLIMITED_TIME);
    const { block, hash, tipsWei, requests } = build.seal();
    return { kind: "built", payload: { block, hash, value: tipsWei, requests } };
  }

  makeBlock(attributes: PayloadAttributes, choices: BuildChoices = {}, labels: Labels = {}): BuildResult {
    if (this.#importing !== undefined) throw new ChainError("chain/importing");
    const { hash: headHex } = this.head();
    const parent = this.#parentState(headHex, hexToBytes(headHex));
    if (parent === undefined) throw new Error(`no state at the head ${headHex}`); // the head's state is always there
    this.#jobs.suspend();
    const started = startBuild(this.#context, parent, attributes, choices);
    if (started.kind === "invalid") return { kind: "invalid-attributes", ...started.problem };
    const { build } = started;
    const { source, limits } = this.#jobs;
    if (build.usesPool && source !== undefined) build.fill(source, limits, UNLIMITED_TIME);
    const executed = build.seal();
    this.#tree.add(executed, this.head().number);
    const { block, hash, hashHex, tipsWei, requests } = executed;
    this.#moveHead(this.#branches.branchOf(hashHex)!, labels);
    return { kind: "built", payload: { block, hash, value: tipsWei, requests } };
  }

  rewind(number: number, labels: Labels = {}): void {
    const hash = this.#store.readCanonicalHash(number);
    if (hash === undefined) throw new Error(`there is no block ${number} to go back to`);
    this.#moveHead({ forkPoint: { number, hash: bytesToHex(hash) }, blocks: [] }, labels);
  }

  announceEdits(): void {
    this.#jobs.suspend();
    const head = this.#branches.storedBlock(hexToBytes(this.head().hash))!;
    for (const listener of this.#listeners) listener({ head, removed: [], added: [] });
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

  badBlocks(): readonly BadBlock[] {
    return this.#invalid.recent();
  }

  onHeadChange(listener: (change: HeadChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#importing?.catch(() => undefined); // reported to the caller of the import
    this.#listeners.clear();
    await Promise.all([this.#liveRoots?.close(), this.#readAhead?.close()]);
    await this.#store.close();
  }

  #execute(prepared: PreparedBlock): PayloadStatusV1 {
    const { block, hash, hashHex } = prepared;
    const { parentHash } = block.header;
    const parentHex = bytesToHex(parentHash);
    const badParent = this.#invalid.get(parentHex);
    if (badParent !== undefined) {
      const fault = blockFault("parent-invalid", { parent: parentHex, rule: badParent.fault.rule });
      this.#invalid.add(hashHex, { fault, latestValidHash: badParent.latestValidHash });
      return invalidStatus(badParent.latestValidHash, describeFault(fault));
    }
    const parent = this.#parentState(parentHex, parentHash);
    if (parent === undefined) return SYNCING;
    const startMs = this.#nowMs();
    const spentFromMs = performance.now();
    const verdict = this.#limit.run(this.#context.engine, hashHex, this.config.optimism !== undefined, () =>
      executeBlock(this.#context, parent, prepared),
    );
    this.#spentMs += performance.now() - spentFromMs;
    this.#metrics.execute.observe((this.#nowMs() - startMs) / 1000, { verdict: verdict.kind });
    if (verdict.kind === "invalid") {
      if (verdict.isFinal) {
        this.#invalid.add(hashHex, { fault: verdict.fault, latestValidHash: parentHex });
        this.#invalid.addBlock({ block, hash, fault: verdict.fault });
      }
      return invalidStatus(parentHex, describeFault(verdict.fault));
    }
    const { executed } = verdict;
    this.#tree.add(executed, this.head().number);
    this.#readAhead?.learn(block.transactions, executed.senders, executed.changes);
    return { status: "VALID", latestValidHash: hashHex };
  }

  /** A block with the state after it. A block that has left the chain and the memory is executed again. */
  #parentState(hashHex: Hex, hash: Uint8Array): ParentState | undefined {
    const branch = this.#branches.branchOf(hashHex) ?? this.#reexecuted(hash);
    const state = branch && this.#branches.parentState(branch, hash);
    const edits = state && this.#editsAfter(hashHex);
    return edits === undefined ? state : { ...state!, edits };
  }

  /** Executes blocks again that were left in a reorganisation and are no longer in the tree. */
  #reexecuted(hash: Uint8Array): Branch | undefined {
    const hashHex = bytesToHex(hash);
    const missing: PreparedBlock[] = [];
    for (let at = hash; ; ) {
      if (this.#branches.branchOf(bytesToHex(at)) !== undefined) break;
      const block = this.#removedBlocks.get(bytesToHex(at)) ?? this.#tree.get(bytesToHex(at))?.prepared; // in the tree, but without all the blocks that it builds on
      if (block === undefined) return undefined;
      missing.push(block);
      at = block.header.parentHash;
    }
    for (const block of missing.reverse()) if (this.#execute(block).status !== "VALID") return undefined;
    return this.#branches.branchOf(hashHex);
  }

  /** Whether the store no longer has what the blocks above replaced, or what a head must have. */
  #isTooDeep({ number, hash }: BlockId): boolean {
    if (hash === this.head().hash) return false;
    const retained = this.#store.retainedHistory();
    return retained !== undefined && number < Math.max(retained.oldestProof, retained.oldestReceipts);
  }

  #moveHead({ forkPoint, blocks }: Branch, labels: Labels): void {
    const before = this.head();
    const changed = changedLabels(this.#store, labels);
    if (blocks.length === 0 && forkPoint.hash === before.hash) {
      if (Object.keys(changed).length > 0) this.#store.writeLabels(changed);
      return;
    }
    this.#jobs.suspend(); // an open build reads the state that is about to change
    const removed: StoredBlock[] = [];
    for (let number = before.number; number > forkPoint.number; number--) {
      const block = this.#branches.storedBlock(this.#store.readCanonicalHash(number)!)!;
      removed.push(block);
      this.#removedBlocks.add(bytesToHex(block.hash), new PreparedBlock(block.block, { senders: block.senders }));
    }
    const startMs = performance.now();
    const stopTimer = this.#metrics.commit.time();
    // Nobody else may have a block that was built here, and others may have been told of it.
    const isFlushed = blocks.some((block) => this.#built.has(block)) ? true : undefined;
    if (removed.length === 0 && blocks.length === 1) this.#store.commitBlock(blocks[0]!, changed, { isFlushed });
    else this.#store.reorganize(forkPoint.number, blocks, changed, { isFlushed });
    stopTimer();
    const elapsedMs = this.#spentMs + performance.now() - startMs;
    this.#spentMs = 0;
    this.#tree.trim(this.head().number, this.head().hash);
    const added = blocks.map(storedBlockOf);
    const head = added.at(-1) ?? this.#branches.storedBlock(hexToBytes(forkPoint.hash))!;
    for (const listener of this.#listeners) listener({ head, removed, added, elapsedMs });
  }

  #hashOf(selector: BlockSelector): Uint8Array | undefined {
    return hashOfSelector(this.#store, this.genesis.hash, selector, (hash) => this.#branches.header(hash)?.number);
  }
}

/** PERF: a commit costs as much as executing several small blocks; each block that waits for one makes reading the state slower. */
const BLOCKS_PER_COMMIT = 64;

/** in the ids of blocks that `extend` builds */
const EXTENSION_VERSION = 3;

function startedRoots(store: ChainDependencies["store"], maxNodes = MAX_STATE_TRIE_NODES): LiveRoots | undefined {
  return store.folder === undefined ? undefined : startLiveRoots(store.folder, maxNodes);
}

const SYNCING: PayloadStatusV1 = { status: "SYNCING", latestValidHash: null };

const updated = (status: PayloadStatusV1) => ({ kind: "updated", status, payloadId: undefined }) as const;

const invalidStatus = (latestValidHash: Hex | null, validationError: string): PayloadStatusV1 => ({
  status: "INVALID",
  latestValidHash,
  validationError,
});
