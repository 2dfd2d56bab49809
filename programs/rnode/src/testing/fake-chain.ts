import type { L1BlockHeader, L1Provider, L2Provider } from "@rnode/derivation";
import type {
  BuildBlocksOutcome,
  ForkchoiceOutcome,
  ForkchoiceState,
  GetPayloadOutcome,
  L2Block,
  L2BlockLabel,
  NewPayloadOutcome,
} from "@rnode/node-clients";
import { EngineError } from "@rnode/node-clients";
import {
  asciiToBytes,
  bytesToHex,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  type Hex,
  hexToBytes,
  keccak256,
  uint64ToBytes,
} from "@rnode/primitives";
import {
  type ExecutionPayload,
  type ExecutionPayloadEnvelope,
  encodeTransaction,
  extraDataFromAttributes,
  forksUpTo,
  HashedPayload,
  type Header,
  hasMinBaseFee,
  type L2BlockRef,
  l1InfoDeposit,
  l2BlockRefFromPayload,
  type OpFork,
  type PayloadAttributes,
  payloadToHeader,
  type Receipt,
  type RollupConfig,
  rollupRulesAt,
  type SystemConfig,
  systemConfigFromPayload,
  type Transaction,
} from "@rnode/protocol";
import { testRollupConfig, testSystemConfig } from "@rnode/protocol/testing";
import { orderedTrieRoot } from "@rnode/trie";
import type { DriverEngine } from "../engine/engine-control.ts";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);
const hashOf = (text: string): Hex => bytesToHex(keccak256(asciiToBytes(text)));

export const GENESIS_TIME_SEC = 1_700_000_000;
export const L1_BLOCK_TIME_SEC = 12;

const SYSTEM_CONFIG = testSystemConfig({ scalar: filled(32, 0).fill(1, 0, 1) });

/** A chain with all forks active at genesis, up to Jovian or only up to Granite. */
export function testConfig(newest: OpFork = "jovian", overrides: Partial<RollupConfig> = {}): RollupConfig {
  const config = testRollupConfig({
    genesis: {
      l1: { hash: hashOf("L1 0 a"), number: 0 },
      l2: { hash: `0x${"00".repeat(32)}`, number: 0 },
      l2TimeSec: GENESIS_TIME_SEC,
      systemConfig: SYSTEM_CONFIG,
    },
    seqWindowSize: 100,
    channelTimeoutL1Blocks: 50,
    forkTimes: forksUpTo(newest),
    depositContractAddress: filled(20, 0xdd),
    l1SystemConfigAddress: filled(20, 0xcc),
    ...overrides,
  });
  const genesis = genesisEnvelope(config);
  return { ...config, genesis: { ...config.genesis, l2: { hash: bytesToHex(genesis.executionPayload.blockHash), number: 0 } } };
}

/** The content of an L1 block. */
export interface L1Content {
  readonly transactions: readonly Transaction[];
  readonly receipts: readonly Receipt[];
}

const EMPTY_CONTENT: L1Content = { transactions: [], receipts: [] };

/** L1 as a list of blocks; `reorg` replaces its end with another branch. */
export class FakeL1 implements L1Provider {
  readonly blocks: L1BlockHeader[] = [];
  private readonly all = new Map<Hex, L1BlockHeader>();
  private readonly contents = new Map<Hex, L1Content>();
  /** while set, every call throws it */
  failure: Error | undefined;
  readonly calls: string[] = [];

  constructor(blockCount: number) {
    this.extend(blockCount, "a");
  }

  get head(): L1BlockHeader {
    return this.blocks.at(-1)!;
  }

  /** @param content content of the first new block */
  extend(count: number, branch = "a", content: L1Content = EMPTY_CONTENT): void {
    for (let i = 0; i < count; i++) {
      const number = this.blocks.length;
      const block: L1BlockHeader = {
        hash: hashOf(`L1 ${number} ${branch}`),
        number,
        parentHash: this.blocks.at(-1)?.hash ?? hashOf("before"),
        timestamp: GENESIS_TIME_SEC + number * L1_BLOCK_TIME_SEC,
        baseFeePerGas: 7n,
        mixHash: keccak256(asciiToBytes(`mix ${number} ${branch}`)),
        parentBeaconBlockRoot: filled(32, 0xbe),
        excessBlobGas: 0n,
      };
      this.blocks.push(block);
      this.all.set(block.hash, block);
      this.contents.set(block.hash, i === 0 ? content : EMPTY_CONTENT);
    }
  }

  reorg(depth: number, count: number, branch: string): void {
    this.blocks.length -= depth;
    this.extend(count, branch);
  }

  async blockByNumber(number: number): Promise<L1BlockHeader | undefined> {
    this.note(`number ${number}`);
    return this.blocks[number];
  }

  async blockByHash(hash: Hex): Promise<L1BlockHeader | undefined> {
    this.note("hash");
    return this.all.get(hash);
  }

  async receipts(blockHash: Hex): Promise<readonly Receipt[] | undefined> {
    this.note("receipts");
    return this.contents.get(blockHash)?.receipts;
  }

  async transactions(blockHash: Hex): Promise<readonly Transaction[] | undefined> {
    this.note("transactions");
    return this.contents.get(blockHash)?.transactions;
  }

  private note(call: string): void {
    this.calls.push(call);
    if (this.failure !== undefined) throw this.failure;
  }
}

/** The attributes that derivation and the sequencer produce for a parent and an origin, with the given user transactions. */
export function attributesOn(
  config: RollupConfig,
  parent: L2BlockRef,
  origin: L1BlockHeader,
  userTransactions: readonly Uint8Array[] = [],
): PayloadAttributes {
  const timestamp = parent.timestamp + config.blockTimeSec;
  const sequenceNumber = parent.l1Origin.hash === origin.hash ? parent.sequenceNumber + 1 : 0;
  const { extraDataVersion, hasBeaconRoot, hasWithdrawals } = rollupRulesAt(config.forkTimes, timestamp);
  const facts = {
    number: origin.number,
    hash: hexToBytes(origin.hash),
    timestamp: origin.timestamp,
    baseFeePerGas: origin.baseFeePerGas,
    blobBaseFee: 1n,
  };
  const info = encodeTransaction(l1InfoDeposit(config, facts, SYSTEM_CONFIG, sequenceNumber, timestamp));
  return {
    timestamp,
    prevRandao: origin.mixHash,
    suggestedFeeRecipient: filled(20, 0x42),
    ...(hasWithdrawals ? { withdrawals: [] } : {}),
    ...(hasBeaconRoot ? { parentBeaconBlockRoot: origin.parentBeaconBlockRoot } : {}),
    transactions: [info, ...userTransactions],
    noTxPool: true,
    gasLimit: 30_000_000n,
    ...(extraDataVersion !== undefined ? { eip1559Params: new Uint8Array(8) } : {}),
    ...(hasMinBaseFee(extraDataVersion) ? { minBaseFee: 0n } : {}),
  };
}

function genesisEnvelope(config: RollupConfig): ExecutionPayloadEnvelope {
  const payload = { parentHash: new Uint8Array(32), blockNumber: -1, timestamp: config.genesis.l2TimeSec - config.blockTimeSec };
  return envelopeOf(config, payload, {
    timestamp: config.genesis.l2TimeSec,
    prevRandao: new Uint8Array(32),
    suggestedFeeRecipient: filled(20, 0x42),
    withdrawals: [],
    parentBeaconBlockRoot: new Uint8Array(32),
    transactions: [],
    noTxPool: true,
    gasLimit: 30_000_000n,
    minBaseFee: 0n,
  });
}

/** The payload of a block. Its hash covers everything that distinguishes blocks in these tests. */
function envelopeOf(
  config: RollupConfig,
  parent: { readonly parentHash: Uint8Array; readonly blockNumber: number },
  attributes: PayloadAttributes,
): ExecutionPayloadEnvelope {
  const transactions = attributes.transactions ?? [];
  const { extraDataVersion, hasBeaconRoot, hasMessagePasserRoot } = rollupRulesAt(config.forkTimes, attributes.timestamp);
  const extraData =
    extraDataVersion !== undefined
      ? extraDataFromAttributes(
          attributes.eip1559Params ?? new Uint8Array(8),
          { denominator: 250, elasticity: 6 },
          hasMinBaseFee(extraDataVersion) ? (attributes.minBaseFee ?? 0n) : undefined,
        )
      : new Uint8Array(0);
  const payload: Omit<ExecutionPayload, "blockHash"> = {
    parentHash: parent.parentHash,
    feeRecipient: attributes.suggestedFeeRecipient,
    stateRoot: filled(32, 0x57),
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: new Uint8Array(256),
    prevRandao: attributes.prevRandao,
    blockNumber: parent.blockNumber + 1,
    gasLimit: attributes.gasLimit ?? 0n,
    gasUsed: 0n,
    timestamp: attributes.timestamp,
    extraData,
    baseFeePerGas: 1n,
    transactions,
    withdrawals: attributes.withdrawals,
    ...(hasBeaconRoot ? { blobGasUsed: 0n, excessBlobGas: 0n } : {}),
    ...(hasMessagePasserRoot ? { withdrawalsRoot: filled(32, 0x77) } : {}),
  };
  const blockHash = keccak256(
    payload.parentHash,
    uint64ToBytes(payload.timestamp),
    payload.prevRandao,
    payload.extraData,
    uint64ToBytes(payload.gasLimit),
    ...transactions,
  );
  return { executionPayload: { ...payload, blockHash }, parentBeaconBlockRoot: attributes.parentBeaconBlockRoot };
}

/** An engine in memory. It keeps every block it receives, follows fork choice, and builds from the attributes plus its pool. */
export class FakeEngine implements DriverEngine, L2Provider {
  readonly config: RollupConfig;
  private readonly blocks = new Map<Hex, L2Block>();
  private readonly jobs = new Map<Hex, ExecutionPayloadEnvelope>();
  private nextJob = 1;
  head: Hex;
  safe: Hex;
  finalized: Hex;
  /** user transactions that the next built block takes from the pool */
  pool: Uint8Array[] = [];
  /** a user transaction that starts with this byte makes its block invalid */
  readonly invalidFirstByte = 0xee;
  /** answers to return instead of the engine's own, in order and once each; undefined: the engine answers */
  readonly nextForkchoice: (ForkchoiceOutcome | EngineError | undefined)[] = [];
  readonly nextGetPayload: (GetPayloadOutcome | EngineError | undefined)[] = [];
  readonly nextBuildBlocks: (BuildBlocksOutcome | EngineError | undefined)[] = [];
  /** undefined: it does not have the extension that builds many blocks */
  maxBlocksPerCall: number | undefined;
  readonly nextNewPayload: (NewPayloadOutcome | EngineError | undefined)[] = [];
  /** while set, every call fails */
  isDown = false;
  /** refuses labels that are not in the chain of the head; `late`: after it has moved its head, as Geth does */
  checksLabels: "no" | "first" | "late" = "no";
  readonly calls: string[] = [];

  constructor(config: RollupConfig) {
    this.config = config;
    const genesis = this.store(genesisEnvelope(config));
    this.head = genesis.ref.hash;
    this.safe = genesis.ref.hash;
    this.finalized = genesis.ref.hash;
  }

  /** Makes a block on `parent`, and stores it without moving the head. */
  make(parent: L2BlockRef, attributes: PayloadAttributes): L2Block {
    return this.store(envelopeOf(this.config, { parentHash: hexToBytes(parent.hash), blockNumber: parent.number }, attributes));
  }

  block(hash: Hex): L2Block {
    const found = this.blocks.get(hash);
    if (found === undefined) throw new Error(`no block ${hash}`);
    return found;
  }

  forget(hash: Hex): void {
    this.blocks.delete(hash);
  }

  async blockByNumber(number: number): Promise<L2Block | undefined> {
    this.note(`blockByNumber ${number}`);
    for (let block = this.blocks.get(this.head); block !== undefined; block = this.blocks.get(block.ref.parentHash)) {
      if (block.ref.number === number) return block;
    }
    return undefined;
  }

  async blockByHash(hash: Hex): Promise<L2Block | undefined> {
    this.note("blockByHash");
    return this.blocks.get(hash);
  }

  async blockByLabel(label: L2BlockLabel): Promise<L2Block | undefined> {
    this.note(`blockByLabel ${label}`);
    return this.blocks.get(label === "latest" ? this.head : label === "safe" ? this.safe : this.finalized);
  }

  async blockRefByNumber(number: number): Promise<L2BlockRef | undefined> {
    return (await this.blockByNumber(number))?.ref;
  }

  async blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined> {
    return (await this.blockByHash(hash))?.ref;
  }

  async payloadByNumber(number: number): Promise<ExecutionPayload | undefined> {
    return (await this.blockByNumber(number))?.envelope.executionPayload;
  }

  async systemConfigByHash(hash: Hex): Promise<SystemConfig | undefined> {
    const block = await this.blockByHash(hash);
    return block === undefined ? undefined : systemConfigFromPayload(this.config, block.envelope.executionPayload);
  }

  async messagePasserStorageRoot(block: L2Block): Promise<Uint8Array> {
    return block.header.withdrawalsRoot ?? EMPTY_TRIE_ROOT;
  }

  /** The chain from the genesis to the head. */
  chain(): L2Block[] {
    const chain: L2Block[] = [];
    for (let block = this.blocks.get(this.head); block !== undefined; block = this.blocks.get(block.ref.parentHash))
      chain.unshift(block);
    return chain;
  }

  async forkchoiceUpdated(state: ForkchoiceState, attributes?: PayloadAttributes): Promise<ForkchoiceOutcome> {
    this.note(attributes === undefined ? "forkchoice" : "build");
    const scripted = this.nextForkchoice.shift();
    if (scripted instanceof EngineError) throw scripted;
    if (scripted !== undefined) return scripted;
    const head = this.blocks.get(state.head);
    if (head === undefined) return { kind: "syncing" };
    if (!this.blocks.has(state.safe) || !this.blocks.has(state.finalized))
      return { kind: "invalid-state", reason: "unknown label" };
    if (this.checksLabels !== "no" && ![state.safe, state.finalized].every((label) => this.isAncestor(label, state.head))) {
      if (this.checksLabels === "late") this.head = state.head;
      return { kind: "invalid-state", reason: "a label is not in the chain of the head" };
    }
    this.head = state.head;
    this.safe = state.safe;
    this.finalized = state.finalized;
    if (attributes === undefined) return { kind: "valid", payloadId: undefined };
    const transactions = [...(attributes.transactions ?? []), ...(attributes.noTxPool ? [] : this.pool)];
    if (!attributes.noTxPool) this.pool = [];
    const id: Hex = `0x${(this.nextJob++).toString(16).padStart(16, "0")}`;
    const parent = { parentHash: head.envelope.executionPayload.blockHash, blockNumber: head.ref.number };
    this.jobs.set(id, envelopeOf(this.config, parent, { ...attributes, transactions }));
    return { kind: "valid", payloadId: id };
  }

  async buildBlocks(state: ForkchoiceState, attributes: readonly PayloadAttributes[]): Promise<BuildBlocksOutcome> {
    if (this.maxBlocksPerCall === undefined) return { kind: "unsupported" };
    this.note("buildBlocks");
    const scripted = this.nextBuildBlocks.shift();
    if (scripted instanceof EngineError) throw scripted;
    if (scripted !== undefined) return scripted;
    const head = this.blocks.get(state.head);
    if (head === undefined) return { kind: "syncing" };
    if (!this.blocks.has(state.safe) || !this.blocks.has(state.finalized))
      return { kind: "invalid-state", reason: "unknown label" };
    this.head = state.head;
    this.safe = state.safe;
    this.finalized = state.finalized;
    const blocks: HashedPayload[] = [];
    for (const asked of attributes.slice(0, this.maxBlocksPerCall)) {
      if ((asked.transactions ?? []).some(([first]) => first === this.invalidFirstByte)) {
        return { kind: "built", blocks, refusal: "bad transaction" };
      }
      const built = this.make(this.block(this.head).ref, asked);
      this.head = built.ref.hash;
      // hashes of this engine's blocks are its own
      blocks.push(HashedPayload.of(built.envelope, built.header));
    }
    return { kind: "built", blocks, refusal: undefined };
  }

  async getPayload(id: Hex): Promise<GetPayloadOutcome> {
    this.note("getPayload");
    const scripted = this.nextGetPayload.shift();
    if (scripted instanceof EngineError) throw scripted;
    if (scripted !== undefined) return scripted;
    const envelope = this.jobs.get(id);
    this.jobs.delete(id);
    return envelope === undefined ? { kind: "expired", reason: "Unknown payload" } : { kind: "payload", envelope, valueWei: 0n };
  }

  async newPayload(envelope: ExecutionPayloadEnvelope): Promise<NewPayloadOutcome> {
    this.note("newPayload");
    const scripted = this.nextNewPayload.shift();
    if (scripted instanceof EngineError) throw scripted;
    if (scripted !== undefined) return scripted;
    const { parentHash, transactions } = envelope.executionPayload;
    if (!this.blocks.has(bytesToHex(parentHash))) return { kind: "syncing" };
    if (transactions.some(([first]) => first === this.invalidFirstByte)) {
      return { kind: "invalid", latestValidHash: bytesToHex(parentHash), reason: "bad transaction" };
    }
    this.store(envelope);
    return { kind: "valid" };
  }

  private isAncestor(hash: Hex, head: Hex): boolean {
    const wanted = this.block(hash).ref;
    let block = this.blocks.get(head);
    while (block !== undefined && block.ref.number > wanted.number) block = this.blocks.get(block.ref.parentHash);
    return block?.ref.hash === hash;
  }

  private store(envelope: ExecutionPayloadEnvelope): L2Block {
    const { executionPayload } = envelope;
    const isGenesis = executionPayload.blockNumber === 0;
    const hash = bytesToHex(executionPayload.blockHash);
    const ref: L2BlockRef = isGenesis
      ? {
          hash,
          number: 0,
          parentHash: bytesToHex(executionPayload.parentHash),
          timestamp: executionPayload.timestamp,
          l1Origin: this.config.genesis.l1,
          sequenceNumber: 0,
        }
      : l2BlockRefFromPayload(this.config, executionPayload);
    const { hasExecutionRequests } = rollupRulesAt(this.config.forkTimes, executionPayload.timestamp);
    const header: Header = payloadToHeader(
      { ...envelope, executionPayload: { ...executionPayload, transactions: [] } },
      hasExecutionRequests ? EMPTY_REQUESTS_HASH : undefined,
      orderedTrieRoot,
    );
    const block = { ref, envelope, header };
    this.blocks.set(hash, block);
    return block;
  }

  private note(call: string): void {
    this.calls.push(call);
    if (this.isDown) throw new EngineError("engine/unavailable", { method: call });
  }
}
