import type { MessageBlock } from "@rnode/interop";
import { EngineError, type L2Block } from "@rnode/node-clients";
import type { Hex } from "@rnode/primitives";
import type { BlockId, Log, RollupConfig } from "@rnode/protocol";
import type { RollupNode } from "../node.ts";
import { outputOfBlock } from "../rpc/block-output.ts";
import { BEFORE_ANY_L1 } from "../rpc/superroot-methods.ts";
import type { ChainLabels, LabelledChain } from "./labelled-chain.ts";
import type { LocalSafeBlock } from "./set-chain.ts";

/** A chain of the set by the node that derives it in this process. */
export class NodeChain implements LabelledChain {
  readonly config: RollupConfig;
  readonly node: RollupNode;
  /** the block that was asked for last, in the chain up to a local-safe block */
  private last: { readonly tip: Hex; readonly block: MessageBlock } | undefined;

  constructor(node: RollupNode, config: RollupConfig) {
    this.node = node;
    this.config = config;
  }

  get chainId(): bigint {
    return this.config.l2ChainId;
  }

  get labels(): ChainLabels | undefined {
    const { heads } = this.node;
    return heads && { unsafe: heads.unsafe, localSafe: heads.pendingSafe, finalized: heads.finalized };
  }

  async localSafe(number: number): Promise<LocalSafeBlock | undefined> {
    const { heads, safeHeads } = this.node;
    if (heads === undefined || number > heads.pendingSafe.number || number < this.config.genesis.l2.number) return undefined;
    const block = await this.localSafeBlock(number, heads.pendingSafe);
    if (block === undefined) return undefined;
    const derivedFrom = number === this.config.genesis.l2.number ? BEFORE_ANY_L1 : safeHeads.knownSafeBy(number);
    return derivedFrom && { block, derivedFrom };
  }

  /** Rounds ask for one block again and again while they wait for another chain. */
  private async localSafeBlock(number: number, tip: MessageBlock): Promise<MessageBlock | undefined> {
    if (number === tip.number) return tip;
    if (this.last?.tip === tip.hash && this.last.block.number === number) return this.last.block;
    const { l2, detours } = this.node;
    const before = detours();
    const block = await l2.blockRefByNumber(number);
    const inChain = await l2.blockRefByNumber(tip.number);
    // In the meantime the engine may have been on a chain of unsafe blocks that lacks the tip.
    if (block === undefined || inChain?.hash !== tip.hash || detours() !== before) return undefined;
    this.last = { tip: tip.hash, block };
    return block;
  }

  blockAt(number: number): Promise<MessageBlock | undefined> {
    return this.node.l2.blockRefByNumber(number);
  }

  async receiptsOf({ hash }: MessageBlock): Promise<readonly { readonly logs: readonly Log[] }[]> {
    return [{ logs: await this.node.l2.logsOf(await this.block(hash)) }];
  }

  async outputOf({ hash }: BlockId) {
    const block = await this.block(hash);
    const { storageRoot } = await outputOfBlock(
      { fetchWithdrawalRootFromState: false },
      { config: this.config, l2: this.node.l2 },
      block,
    );
    return { stateRoot: block.header.stateRoot, messagePasserStorageRoot: storageRoot };
  }

  onVerdict(): void {
    this.node.wake();
  }

  private async block(hash: Hex): Promise<L2Block> {
    const block = await this.node.l2.blockByHash(hash);
    if (block === undefined) throw new EngineError("engine/bad-answer", { method: "eth_getBlockByHash", hash, got: "none" });
    return block;
  }
}
