import type { L1Provider, L2Provider } from "@rnode/derivation";
import { isCodedError } from "@rnode/primitives";
import { applySystemConfigUpdates, type L2BlockRef, type RollupConfig, type SystemConfig, upgradeGasAt } from "@rnode/protocol";
import { type Trouble, temporary } from "./progress.ts";
import type { QueuedPayload } from "./unsafe-queue.ts";

export interface UnsafeGasLimitDeps {
  readonly config: RollupConfig;
  readonly l1: Pick<L1Provider, "blockByHash" | "receipts">;
  readonly l2: Pick<L2Provider, "systemConfigByHash">;
}

export type GasLimitVerdict = { readonly kind: "right" } | { readonly kind: "wrong"; readonly expected: bigint } | Trouble;

/** Beyond the limit at the head, by which a gap may have raised it before the engine is asked to fetch the gap. */
const MAX_RAISE = 2n;

/**
 * Checks the gas limit of an unsafe payload before the engine gets it: execution takes as long as the gas limit allows, and nothing but
 * the SystemConfig on L1 bounds it. Spec: docs/protocol/02-derivation.md#unsafe-payload-queue
 */
export class UnsafeGasLimit {
  private readonly deps: UnsafeGasLimitDeps;

  constructor(deps: UnsafeGasLimitDeps) {
    this.deps = deps;
  }

  /**
   * The limit of a child of `parent` is that of the parent's SystemConfig, with updates of a new L1 origin, and the upgrade gas of a
   * fork's first block. An L1 origin that this node cannot read explains no other limit.
   */
  async ofChild(parent: L2BlockRef, { ref, envelope }: QueuedPayload): Promise<GasLimitVerdict> {
    const { gasLimit } = envelope.executionPayload;
    const system = await this.systemConfigOf(parent);
    if ("kind" in system) return system;
    const expected = this.limitAt(system, ref);
    if (gasLimit === expected) return { kind: "right" };
    const updated = ref.l1Origin.hash === parent.l1Origin.hash ? undefined : await this.updatedAt(parent, ref, system);
    const limit = updated === undefined ? expected : this.limitAt(updated, ref);
    return gasLimit === limit ? { kind: "right" } : { kind: "wrong", expected: limit };
  }

  /** A payload with missing ancestors: its limit may have been raised by them, once. */
  async ofDescendant(head: L2BlockRef, { ref, envelope }: QueuedPayload): Promise<GasLimitVerdict> {
    const system = await this.systemConfigOf(head);
    if ("kind" in system) return system;
    const expected = this.limitAt(system, ref);
    return envelope.executionPayload.gasLimit <= expected * MAX_RAISE ? { kind: "right" } : { kind: "wrong", expected };
  }

  private limitAt({ gasLimit }: SystemConfig, { timestamp }: L2BlockRef): bigint {
    return gasLimit + upgradeGasAt(this.deps.config, timestamp);
  }

  private async systemConfigOf({ number, hash }: L2BlockRef): Promise<SystemConfig | Trouble> {
    try {
      const system = await this.deps.l2.systemConfigByHash(hash);
      return system ?? temporary(`the engine does not have the head ${number} ${hash}`);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return temporary(`gas limit of an unsafe payload: ${error.message}`);
    }
  }

  /** @returns `undefined` if L1 does not have the origin, or the origin does not follow that of the parent */
  private async updatedAt(parent: L2BlockRef, { l1Origin }: L2BlockRef, system: SystemConfig): Promise<SystemConfig | undefined> {
    const { config, l1 } = this.deps;
    try {
      const origin = await l1.blockByHash(l1Origin.hash);
      if (origin === undefined || origin.parentHash !== parent.l1Origin.hash) return undefined;
      const receipts = await l1.receipts(origin.hash);
      return receipts && applySystemConfigUpdates(config, system, receipts, origin.timestamp).systemConfig;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return undefined;
    }
  }
}
