import type { L2Provider } from "@rnode/derivation";
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
import { extraDataOf } from "./consolidation.ts";

/**
 * The L2 chain for derivation, with the blocks that are derived but not built yet on top. Their hashes follow from execution; until then
 * other values stand in for them. Only what the attributes say is known of such a block: its place and its SystemConfig.
 */
export class BlocksAhead implements L2Provider {
  private readonly l2: L2Provider;
  private readonly config: RollupConfig;
  private readonly ahead = new Map<Hex, SystemConfig>();
  private count = 0n;

  constructor(l2: L2Provider, config: RollupConfig) {
    this.l2 = l2;
    this.config = config;
  }

  isAhead({ hash }: Pick<L2BlockRef, "hash">): boolean {
    return this.ahead.has(hash);
  }

  /** The block that derived attributes describe; undefined if there can be no such block. */
  add(parent: L2BlockRef, attributes: PayloadAttributes): L2BlockRef | undefined {
    const extraData = extraDataOf(this.config, attributes);
    if (extraData === undefined) return undefined;
    const blockHash = new Uint8Array(32); // 24 zeros: no block has such a hash
    new DataView(blockHash.buffer).setBigUint64(24, ++this.count);
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
    this.ahead.set(bytesToHex(blockHash), systemConfigFromPayload(this.config, payload));
    return l2BlockRefFromPayload(this.config, payload);
  }

  /** The blocks have been built, or never will be. */
  clear(): void {
    this.ahead.clear();
  }

  async systemConfigByHash(hash: Hex): Promise<SystemConfig | undefined> {
    return this.ahead.get(hash) ?? this.l2.systemConfigByHash(hash);
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
