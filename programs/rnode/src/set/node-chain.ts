import type { MessageBlock } from "@rnode/interop";
import { EngineError, type L2Block } from "@rnode/node-clients";
import { bytesToHex, type Hex, LruCache } from "@rnode/primitives";
import type { BlockId, Header, Log, RollupConfig } from "@rnode/protocol";
import type { RollupNode } from "../node.ts";
import { outputOfBlock } from "../rpc/block-output.ts";
import { BEFORE_ANY_L1 } from "../rpc/superroot-methods.ts";
import type { ChainLabels, LabelledChain } from "./labelled-chain.ts";
import type { MessageLog } from "./message-log.ts";
import type { LocalSafeBlock } from "./set-chain.ts";

/** More than are asked for at once. */
const HEADERS = 64;

/** A chain of the set by the node that derives it in this process. */
export class NodeChain implements LabelledChain {
  readonly config: RollupConfig;
  readonly node: RollupNode;
  /** of this chain */
  private readonly log: MessageLog;
  private readonly headers = new LruCache<Hex, Header>(HEADERS);
  /** an ancestor of a local-safe block */
  private known: { readonly tip: Hex; readonly block: MessageBlock } | undefined;

  constructor(node: RollupNode, config: RollupConfig, log: MessageLog) {
    this.node = node;
    this.config = config;
    this.log = log;
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

  /**
   * PERF: each block of the log is the child of the one before. One of them that is known as an ancestor of the tip is enough to find all before it
   * without the engine, which is busy while it catches up.
   */
  private async localSafeBlock(number: number, tip: MessageBlock): Promise<MessageBlock | undefined> {
    if (number === tip.number) return tip;
    const inLog = this.ancestor(number, tip);
    if (inLog !== undefined) return inLog;
    const read = this.log.last?.number ?? number;
    const block = await this.ancestorByEngine(number < read && read < tip.number ? read : number, tip);
    if (block === undefined) return undefined;
    this.known = { tip: tip.hash, block };
    return this.ancestor(number, tip) ?? this.ancestorByEngine(number, tip);
  }

  /** An ancestor of a block, by the log alone. */
  private ancestor(number: number, tip: MessageBlock): MessageBlock | undefined {
    const { log } = this;
    if (this.known?.tip === tip.parentHash) this.known = { ...this.known, tip: tip.hash };
    const known = this.known?.tip === tip.hash ? this.known.block : undefined;
    if (known?.number === number) return known;
    const isInLog = (block: MessageBlock): boolean => number < block.number && log.at(block.number)?.block.hash === block.hash;
    return isInLog(tip) || (known !== undefined && isInLog(known)) ? log.at(number)?.block : undefined;
  }

  private async ancestorByEngine(number: number, tip: MessageBlock): Promise<MessageBlock | undefined> {
    const { l2, detours } = this.node;
    const before = detours();
    const block = await this.blockAt(number);
    // In the meantime the engine may have been on a chain of unsafe blocks that lacks the tip.
    return (await l2.hashByNumber(tip.number)) === tip.hash && detours() === before ? block : undefined;
  }

  async blockAt(number: number): Promise<MessageBlock | undefined> {
    const found = await this.node.l2.headerBy(number);
    if (found === undefined) return undefined;
    const { hash, header } = found;
    this.headers.set(hash, header);
    return { hash, number, parentHash: bytesToHex(header.parentHash), timestamp: header.timestamp };
  }

  async receiptsOf({ hash, number }: MessageBlock): Promise<readonly { readonly logs: readonly Log[] }[]> {
    const header = this.headers.get(hash) ?? (await this.block(hash)).header;
    return [{ logs: await this.node.l2.logsOf({ ref: { hash, number }, header }) }];
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
