import type { L2Block } from "@rnode/node-clients";
import { outputRoot, type RollupConfig, rollupRulesAt } from "@rnode/protocol";

export interface OutputOptions {
  /** prove the message passer's root from the state even if the header contains it */
  readonly fetchWithdrawalRootFromState: boolean;
}

export interface OutputDeps {
  readonly config: RollupConfig;
  readonly l2: { messagePasserStorageRoot(block: L2Block): Promise<Uint8Array> };
}

export interface BlockOutput {
  /** 32 bytes each */
  readonly outputRoot: Uint8Array;
  readonly storageRoot: Uint8Array;
}

/** The output root of a block of the canonical chain. Spec: docs/protocol/02-derivation.md#output-roots @throws {EngineError} */
export async function outputOfBlock(options: OutputOptions, { config, l2 }: OutputDeps, block: L2Block): Promise<BlockOutput> {
  const { header } = block;
  const isInHeader =
    rollupRulesAt(config.forkTimes, header.timestamp).hasMessagePasserRoot && !options.fetchWithdrawalRootFromState;
  const storageRoot =
    isInHeader && header.withdrawalsRoot !== undefined ? header.withdrawalsRoot : await l2.messagePasserStorageRoot(block);
  const { blockHash } = block.envelope.executionPayload;
  return {
    outputRoot: outputRoot({ stateRoot: header.stateRoot, messagePasserStorageRoot: storageRoot, blockHash }),
    storageRoot,
  };
}
