import {
  bytesToHex,
  EMPTY_TRIE_ROOT,
  equalBytes,
  type Hex,
  hexToBytes,
  hexToFixedBytes,
  keccak256,
  LruCache,
  parseQuantity,
  toQuantity,
} from "@rnode/primitives";
import {
  blockFromRpc,
  blockToPayload,
  type ExecutionPayload,
  type ExecutionPayloadEnvelope,
  encodeTransaction,
  type Header,
  hashHeader,
  type L2BlockRef,
  l2BlockRefFromPayload,
  PREDEPLOYS,
  type RollupConfig,
  rollupRulesAt,
  type SystemConfig,
  systemConfigFromPayload,
} from "@rnode/protocol";
import { decodeAccount, orderedTrieRoot, verifyProof } from "@rnode/trie";
import { readAnswer } from "./engine-client.ts";
import { EngineError, type EngineRpc, toEngineError } from "./engine-error.ts";

/** A block of the engine, complete, its hash and transactions root recomputed. */
export interface L2Block {
  readonly ref: L2BlockRef;
  readonly header: Header;
  readonly envelope: ExecutionPayloadEnvelope;
}

type KnownPayload = Pick<L2Block, "ref" | "envelope">;

export type L2BlockLabel = "latest" | "safe" | "finalized";

const CACHED_BLOCKS = 256;
const UNKNOWN_BLOCK = /not found|unknown block|not available/i;

/**
 * The L2 chain as the engine serves it in the `eth_` namespace of its auth port. Also derivation's L2 provider.
 * Lookups by hash are cached, lookups by number or label never.
 */
export class L2Blocks {
  private readonly rpc: EngineRpc;
  private readonly config: RollupConfig;
  private readonly cache = new LruCache<Hex, L2Block>(CACHED_BLOCKS);
  /** of blocks in `cache`, and of those that came from us */
  private readonly payloads = new LruCache<Hex, KnownPayload>(CACHED_BLOCKS);

  constructor(rpc: EngineRpc, config: RollupConfig) {
    this.rpc = rpc;
    this.config = config;
  }

  /** @throws {EngineError} */
  async chainId(): Promise<bigint> {
    const method = "eth_chainId";
    const answer = await this.call(method, []);
    return readAnswer(method, () => parseQuantity(String(answer)));
  }

  /** Hash of the canonical block at a height, without reading it. @throws {EngineError} */
  async hashByNumber(number: number): Promise<Hex | undefined> {
    const method = "eth_getBlockByNumber";
    const answer = await this.call(method, [toQuantity(number), false]);
    if (answer === null) return undefined;
    return readAnswer(method, () => bytesToHex(hexToFixedBytes(String((answer as { hash?: unknown }).hash), 32)));
  }

  /** undefined when the label is not set. @throws {EngineError} */
  async blockByLabel(label: L2BlockLabel): Promise<L2Block | undefined> {
    try {
      return await this.fetch("eth_getBlockByNumber", label);
    } catch (error) {
      // before the first safe or finalized block some clients answer null, others an error
      if (error instanceof EngineError && error.code === "engine/rpc-error" && UNKNOWN_BLOCK.test(error.message)) return undefined;
      throw error;
    }
  }

  /** @throws {EngineError} */
  blockByNumber(number: number): Promise<L2Block | undefined> {
    return this.fetch("eth_getBlockByNumber", toQuantity(number));
  }

  /** @throws {EngineError} */
  async blockByHash(hash: Hex): Promise<L2Block | undefined> {
    return this.cache.get(hash) ?? (await this.fetch("eth_getBlockByHash", hash));
  }

  async blockRefByNumber(number: number): Promise<L2BlockRef | undefined> {
    return (await this.blockByNumber(number))?.ref;
  }

  async blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined> {
    return (this.payloads.get(hash) ?? (await this.blockByHash(hash)))?.ref;
  }

  async payloadByNumber(number: number): Promise<ExecutionPayload | undefined> {
    return (await this.blockByNumber(number))?.envelope.executionPayload;
  }

  async systemConfigByHash(hash: Hex): Promise<SystemConfig | undefined> {
    const known = this.payloads.get(hash) ?? (await this.blockByHash(hash));
    return known === undefined ? undefined : systemConfigFromPayload(this.config, known.envelope.executionPayload);
  }

  /** A payload that the engine has just called valid: it is not read back when derivation or the sequencer asks for it next. */
  remember(envelope: ExecutionPayloadEnvelope): void {
    const ref = l2BlockRefFromPayload(this.config, envelope.executionPayload);
    this.payloads.set(ref.hash, { ref, envelope });
  }

  /**
   * Storage root of the message passer at a block, proven against its state root.
   *
   * @throws {EngineError} engine/bad-answer when the proof does not hold
   */
  async messagePasserStorageRoot(block: L2Block): Promise<Uint8Array> {
    const method = "eth_getProof";
    const address = PREDEPLOYS.l2ToL1MessagePasser;
    const answer = await this.call(method, [bytesToHex(address), [], block.ref.hash]);
    return readAnswer(method, () => {
      const { accountProof } = (answer ?? {}) as { accountProof?: unknown };
      if (!Array.isArray(accountProof)) throw new EngineError("engine/bad-answer", { method, missing: "accountProof" });
      const nodes = accountProof.map((node) => hexToBytes(String(node)));
      const account = verifyProof(block.header.stateRoot, keccak256(address), nodes);
      return account === undefined ? EMPTY_TRIE_ROOT : decodeAccount(account).storageRoot;
    });
  }

  private async fetch(method: string, selector: string): Promise<L2Block | undefined> {
    const answer = await this.call(method, [selector, true]);
    if (answer === null) return undefined;
    const block = readAnswer(method, () => this.readBlock(method, answer));
    this.cache.set(block.ref.hash, block);
    this.payloads.set(block.ref.hash, block);
    return block;
  }

  private readBlock(method: string, answer: unknown): L2Block {
    const { header, hash, transactions, withdrawals } = blockFromRpc(answer);
    const computed = hashHeader(header);
    if (!equalBytes(computed, hash)) {
      throw new EngineError("engine/bad-answer", { method, stated: bytesToHex(hash), computed: bytesToHex(computed) });
    }
    const known = this.cache.get(bytesToHex(hash));
    if (known !== undefined) return known;
    if (!equalBytes(orderedTrieRoot(transactions.map(encodeTransaction)), header.transactionsRoot)) {
      throw new EngineError("engine/bad-answer", { method, block: bytesToHex(hash), mismatch: "transactions root" });
    }
    const { hasMessagePasserRoot } = rollupRulesAt(this.config.forkTimes, header.timestamp);
    const envelope = blockToPayload({ header, transactions, ommers: [], withdrawals }, hash, hasMessagePasserRoot);
    return { header, envelope, ref: l2BlockRefFromPayload(this.config, envelope.executionPayload) };
  }

  private async call(method: string, params: readonly unknown[]): Promise<unknown> {
    try {
      return await this.rpc.call(method, params);
    } catch (error) {
      throw toEngineError(method, error);
    }
  }
}
