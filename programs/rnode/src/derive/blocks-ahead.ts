import type { L2Provider, NextParent } from "@rnode/derivation";
import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import {
  type ExecutionPayload,
  type L2BlockRef,
  l2BlockRefFromPayload,
  type PayloadAttributes,
  type RollupConfig,
  type SystemConfig,
  systemConfigFromPayload,
} from "@rnode/protocol";
import { extraDataOf } from "../common/consolidation.ts";

/** Facts of a block that is not built yet. */
interface BlockAhead {
  readonly systemConfig: SystemConfig;
  /** its hash is the one that the next batch names */
  readonly isNamed: boolean;
}

/**
 * The L2 chain for derivation, extended by the blocks that are derived but not built yet. Their real hashes follow from
 * execution. Until then they have the hashes that later batches name, or, if these name none, placeholder hashes. Of such a block
 * only the place and the SystemConfig are known, from its attributes.
 */
export class BlocksAhead implements L2Provider {
  private readonly l2: L2Provider;
  private readonly config: RollupConfig;
  private readonly ahead = new Map<Hex, BlockAhead>();
  private count = 0n;

  constructor(l2: L2Provider, config: RollupConfig) {
    this.l2 = l2;
    this.config = config;
  }

  isAhead({ hash }: Pick<L2BlockRef, "hash">): boolean {
    return this.ahead.has(hash);
  }

  /** Whether the block has the hash that a batch names, which has to be compared with its own once it is built. */
  isNamed({ hash }: Pick<L2BlockRef, "hash">): boolean {
    return this.ahead.get(hash)?.isNamed === true;
  }

  /**
   * The block that derived attributes describe; undefined if there can be no such block.
   *
   * @param name the block hash in the next batch
   */
  add(parent: L2BlockRef, attributes: PayloadAttributes, name: NextParent): L2BlockRef | undefined {
    const extraData = extraDataOf(this.config, attributes);
    if (extraData === undefined) return undefined;
    const isNamed = name !== "unnamed";
    const blockHash = isNamed ? hexToBytes(name) : this.unusedHash();
    const { timestamp, gasLimit = 0n, transactions = [] } = attributes;
    const payload = {
      blockHash,
      blockNumber: parent.number + 1,
      parentHash: hexToBytes(parent.hash),
      timestamp,
      gasLimit,
      transactions,
      extraData,
    };
    this.ahead.set(bytesToHex(blockHash), { systemConfig: systemConfigFromPayload(this.config, payload), isNamed });
    return l2BlockRefFromPayload(this.config, payload);
  }

  /** 24 zeros: no block has such a hash */
  private unusedHash(): Uint8Array {
    const hash = new Uint8Array(32);
    new DataView(hash.buffer).setBigUint64(24, ++this.count);
    return hash;
  }

  /** The blocks have been built, or never will be. */
  clear(): void {
    this.ahead.clear();
  }

  async systemConfigByHash(hash: Hex): Promise<SystemConfig | undefined> {
    return this.ahead.get(hash)?.systemConfig ?? this.l2.systemConfigByHash(hash);
  }

  blockRefByNumber(number: number): Promise<L2BlockRef | undefined> {
    return this.l2.blockRefByNumber(number);
  }

  blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined> {
    return this.l2.blockRefByHash(hash);
  }

  payloadByNumber(number: number): Promise<ExecutionPayload | undefined> {
    return this.l2.payloadByNumber(number);
  }
}
