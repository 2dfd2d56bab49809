import { RpcError, saysBlockIsGone } from "@rnode/jsonrpc";
import {
  bytesToHex,
  EMPTY_TRIE_ROOT,
  equalBytes,
  type Hex,
  hexToBytes,
  isHexOf,
  isZeroBytes,
  keccak256,
  LruCache,
  parseQuantity,
  toQuantity,
} from "@rnode/primitives";
import {
  type BlockId,
  type ExecutionPayload,
  type ExecutionPayloadEnvelope,
  type HashedPayload,
  type Header,
  type L2BlockRef,
  type Log,
  l2BlockRefFromPayload,
  logFromRpc,
  logsBloom,
  PREDEPLOYS,
  type RollupConfig,
  type SystemConfig,
  systemConfigFromPayload,
} from "@rnode/protocol";
import { decodeAccount, verifyProof } from "@rnode/trie";
import { EngineError, type EngineRpc, toEngineError } from "./engine-error.ts";
import { checkPayload, payloadFromRpc, readAnswer, statedHash, verifiedBlockHash, verifiedHeader } from "./verified-payload.ts";

/** A complete block as the engine serves it. */
export interface L2Block {
  readonly ref: L2BlockRef;
  readonly header: Header;
  readonly envelope: ExecutionPayloadEnvelope;
}

/** A cached block. */
interface VerifiedBlock extends L2Block {
  readonly envelope: HashedPayload;
}

export type L2BlockLabel = "latest" | "safe" | "finalized";

const CACHED_BLOCKS = 256;
const UNKNOWN_BLOCK = /not found|unknown block|not available/i;

const isRefusal = (error: unknown, reason: RegExp): boolean =>
  error instanceof EngineError && error.code === "engine/rpc-error" && reason.test(error.message);

/**
 * The L2 chain as the engine serves it through the `eth_` namespace of its authenticated port. It is also derivation's
 * L2 provider. Lookups by hash are cached, lookups by number or label never are.
 */
export class L2Blocks {
  private readonly rpc: EngineRpc;
  private readonly config: RollupConfig;
  private readonly cache = new LruCache<Hex, VerifiedBlock>(CACHED_BLOCKS);

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

  /** The header of a canonical block, checked against its hash, whatever the forks say about its form. @throws {EngineError} */
  async headerBy(block: number | "latest"): Promise<{ readonly hash: Hex; readonly header: Header } | undefined> {
    const method = "eth_getBlockByNumber";
    const answer = await this.callForBlock(method, [typeof block === "number" ? toQuantity(block) : block, false]);
    return answer === null ? undefined : verifiedHeader(method, answer, typeof block === "number" ? block : undefined);
  }

  /** The hash of the canonical block at a height, without fetching its transactions. @throws {EngineError} */
  async hashByNumber(number: number): Promise<Hex | undefined> {
    const method = "eth_getBlockByNumber";
    const answer = await this.callForBlock(method, [toQuantity(number), false]);
    if (answer === null) return undefined;
    return verifiedBlockHash(method, answer, number);
  }

  /** The block that a label points to; undefined if the label is not set. @throws {EngineError} */
  async blockByLabel(label: L2BlockLabel): Promise<L2Block | undefined> {
    try {
      return await this.fetch("eth_getBlockByNumber", label, {});
    } catch (error) {
      // before the first safe or finalized block some clients answer null and others with an error
      if (isRefusal(error, UNKNOWN_BLOCK)) return undefined;
      throw error;
    }
  }

  /** @returns undefined: the engine does not have the block, or has pruned it. @throws {EngineError} */
  async blockByNumber(number: number): Promise<L2Block | undefined> {
    return this.fetch("eth_getBlockByNumber", toQuantity(number), { number });
  }

  /** @throws {EngineError} */
  async blockByHash(hash: Hex): Promise<L2Block | undefined> {
    return this.cache.get(hash) ?? (await this.fetch("eth_getBlockByHash", hash, { hash }));
  }

  /**
   * A block requested by a peer or a client. It is not cached, so that it does not evict blocks that this node needs. @throws
   * {EngineError}
   */
  async envelopeByNumber(number: number): Promise<ExecutionPayloadEnvelope | undefined> {
    return this.read("eth_getBlockByNumber", toQuantity(number), { number });
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

  /**
   * Caches a payload that the engine has just reported VALID, so that derivation or the sequencer need not fetch it.
   *
   * @throws {EngineError} engine/bad-answer when it does not hash to its block hash
   */
  remember(envelope: ExecutionPayloadEnvelope): void {
    this.keep(checkPayload("engine_newPayload", envelope, this.config.forkTimes));
  }

  /**
   * The storage root of the message passer at a block, proven against the block's state root.
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

  /** The logs of a block in their order, as its bloom has them. @throws {EngineError} engine/bad-answer if they differ from it */
  async logsOf({ ref, header }: { readonly ref: BlockId } & Pick<L2Block, "header">): Promise<readonly Log[]> {
    if (isZeroBytes(header.logsBloom)) return [];
    const method = "eth_getLogs";
    const answer = await this.call(method, [{ blockHash: ref.hash }]);
    return readAnswer(method, () => {
      if (!Array.isArray(answer)) throw new EngineError("engine/bad-answer", { method, expected: "a list" });
      const logs = answer.map(logFromRpc);
      const isWhole = logs.every(({ blockHash, logIndex }, i) => logIndex === i && isHexOf(ref.hash, blockHash));
      if (!isWhole || !equalBytes(logsBloom(logs), header.logsBloom)) {
        throw new EngineError("engine/bad-answer", {
          method,
          number: ref.number,
          hash: ref.hash,
          expected: "all logs of the block",
        });
      }
      return logs;
    });
  }

  private async fetch(method: string, selector: string, asked: { hash?: Hex; number?: number }): Promise<L2Block | undefined> {
    const payload = await this.read(method, selector, asked);
    return payload && readAnswer(method, () => this.keep(payload));
  }

  private async read(method: string, selector: string, asked: { hash?: Hex; number?: number }): Promise<HashedPayload | undefined> {
    const answer = await this.callForBlock(method, [selector, true]);
    if (answer === null) return undefined;
    const known = this.cache.get(statedHash(method, answer))?.envelope;
    const payload = known ?? payloadFromRpc(method, answer, this.config.forkTimes);
    const { blockHash, blockNumber } = payload.executionPayload;
    const hash = bytesToHex(blockHash);
    if ((asked.hash ?? hash) !== hash || (asked.number ?? blockNumber) !== blockNumber) {
      throw new EngineError("engine/bad-answer", { method, asked: selector, got: blockNumber, hash });
    }
    return payload;
  }

  private keep(payload: HashedPayload): VerifiedBlock {
    const ref = l2BlockRefFromPayload(this.config, payload.executionPayload);
    const block = { ref, header: payload.header, envelope: payload };
    this.cache.set(ref.hash, block);
    return block;
  }

  /** @returns null: the engine does not have the block, or no longer */
  private async callForBlock(method: string, params: readonly unknown[]): Promise<unknown> {
    try {
      return await this.call(method, params);
    } catch (error) {
      if (error instanceof EngineError && error.cause instanceof RpcError && saysBlockIsGone(error.cause)) return null;
      throw error;
    }
  }

  private async call(method: string, params: readonly unknown[]): Promise<unknown> {
    try {
      return await this.rpc.call(method, params);
    } catch (error) {
      throw toEngineError(method, error);
    }
  }
}
