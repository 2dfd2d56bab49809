import type { MessageBlock } from "@rnode/interop";
import type { BlockId, Receipt, RollupConfig } from "@rnode/protocol";

/** A block that L1 alone makes safe, and the L1 block whose data made it so. */
export interface LocalSafeBlock {
  readonly block: MessageBlock;
  readonly derivedFrom: BlockId;
}

/** A chain of the set, as its verifier sees it. */
export interface SetChain {
  readonly chainId: bigint;
  readonly config: Pick<RollupConfig, "genesis" | "blockTimeSec" | "forkTimes">;
  /** The block of a number if L1 makes it safe; `undefined`: not yet. @throws {CodedError} engine/*, safe-heads/*, storage/* */
  localSafe(number: number): Promise<LocalSafeBlock | undefined>;
  /** The block of a number in the chain that L1 makes safe. @throws {CodedError} engine/* */
  blockAt(number: number): Promise<MessageBlock | undefined>;
  /** @throws {CodedError} engine/* */
  receiptsOf(block: MessageBlock): Promise<readonly Pick<Receipt, "logs">[]>;
  /** The parts of a block's output root. @throws {CodedError} engine/* */
  outputOf(block: BlockId): Promise<{ readonly stateRoot: Uint8Array; readonly messagePasserStorageRoot: Uint8Array }>;
  /** What was verified or denied has changed. */
  onVerdict(): void;
}

/** The number of a chain's newest block at a time; below the genesis: there is none. */
export const numberAt = ({ genesis, blockTimeSec }: SetChain["config"], timestamp: number): number =>
  genesis.l2.number + Math.floor((timestamp - genesis.l2TimeSec) / blockTimeSec);

export const timeOf = ({ genesis, blockTimeSec }: SetChain["config"], number: number): number =>
  genesis.l2TimeSec + (number - genesis.l2.number) * blockTimeSec;
