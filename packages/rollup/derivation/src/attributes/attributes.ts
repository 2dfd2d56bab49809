import { hexToBytes } from "@rnode/primitives";
import {
  applySystemConfigUpdates,
  type BlockId,
  type DepositTransaction,
  depositsFromReceipts,
  encodeTransaction,
  hasMinBaseFee,
  type L2BlockRef,
  l1BlobBaseFee,
  l1InfoDeposit,
  type PayloadAttributes,
  PREDEPLOYS,
  rollupRulesAt,
  type SystemConfig,
  upgradesOfBlock,
} from "@rnode/protocol";
import type { DerivationConfig } from "../config.ts";
import type { L1BlockHeader, L1Provider, L2Provider } from "../l1/providers.ts";
import type { DerivationObserver } from "../observer.ts";
import { DerivationError } from "../pipeline-types.ts";
import type { Pull } from "../pull.ts";

type LogObserver = Pick<DerivationObserver, "onLogSkipped">;

/** The input of a block from its epoch. */
interface EpochInput {
  readonly origin: L1BlockHeader;
  readonly deposits: readonly DepositTransaction[];
  readonly systemConfig: SystemConfig;
  readonly sequenceNumber: number;
}

/**
 * The attributes of the block after `parent` with the L1 origin `epoch`, before any batch: L1 info, deposits and upgrades as
 * transactions, and `noTxPool` set. The sequencer also uses them. Spec: docs/protocol/02-derivation.md#building-the-attributes
 *
 * @param observer gets the skipped deposits; `L1Traversal` reports skipped config updates
 * @throws {CodedError} derivation/l2-block-missing; critical: upgrade/*
 */
export async function prepareAttributes(
  config: DerivationConfig,
  providers: { readonly l1: L1Provider; readonly l2: Pick<L2Provider, "systemConfigByHash"> },
  parent: L2BlockRef,
  epoch: BlockId,
  observer?: LogObserver,
): Promise<Pull<PayloadAttributes>> {
  const { rollup } = config;
  const pulled = await epochInput(config, providers, parent, epoch, observer);
  if (pulled.kind !== "value") return pulled;
  const { origin, deposits, systemConfig, sequenceNumber } = pulled.value;
  const timestamp = parent.timestamp + rollup.blockTimeSec;
  if (timestamp < origin.timestamp) {
    const detail = `L2 block ${parent.number + 1} at ${timestamp} s would be older than its L1 origin ${origin.number} at ${origin.timestamp} s`;
    return { kind: "reset", reason: "time-invariant", detail };
  }
  const facts = {
    number: origin.number,
    hash: hexToBytes(origin.hash),
    timestamp: origin.timestamp,
    baseFeePerGas: origin.baseFeePerGas,
    blobBaseFee: l1BlobBaseFee(rollup, config.l1BlobSchedule, origin),
  };
  const l1Info = l1InfoDeposit(rollup, facts, systemConfig, sequenceNumber, timestamp);
  const upgrades = upgradesOfBlock(rollup, timestamp, { source: config.upgradeArtifact, isInCluster: config.isInCluster });
  const value: PayloadAttributes = {
    timestamp,
    prevRandao: origin.mixHash,
    suggestedFeeRecipient: PREDEPLOYS.sequencerFeeVault,
    transactions: forcedTransactions({ l1Info, deposits, upgrades: upgrades.transactions }).map(encodeTransaction),
    noTxPool: true,
    gasLimit: systemConfig.gasLimit + upgrades.extraGas,
    ...forkAttributes(config, origin, systemConfig, timestamp),
  };
  return { kind: "value", value };
}

export interface ForcedTransactions {
  readonly l1Info: DepositTransaction;
  /** users' deposits of the epoch, in a block that begins one */
  readonly deposits: readonly DepositTransaction[];
  /** in the first block of a fork */
  readonly upgrades: readonly DepositTransaction[];
}

/** The transactions of a block besides those of its batch, in consensus order. */
export const forcedTransactions = ({ l1Info, deposits, upgrades }: ForcedTransactions): readonly DepositTransaction[] => [
  l1Info,
  ...deposits,
  ...upgrades,
];

async function epochInput(
  { rollup }: DerivationConfig,
  { l1, l2 }: { readonly l1: L1Provider; readonly l2: Pick<L2Provider, "systemConfigByHash"> },
  parent: L2BlockRef,
  epoch: BlockId,
  observer: LogObserver | undefined,
): Promise<Pull<EpochInput>> {
  const parentConfig = await l2.systemConfigByHash(parent.hash);
  if (parentConfig === undefined) {
    throw new DerivationError("derivation/l2-block-missing", { number: parent.number, hash: parent.hash });
  }
  const isGone = (): Pull<never> => ({
    kind: "reset",
    reason: "l1-reorg",
    detail: `L1 block ${epoch.number} ${epoch.hash} is gone`,
  });
  const mismatch = (got: string): Pull<never> => {
    const detail = `L2 block ${parent.number} ${parent.hash} has the L1 origin ${parent.l1Origin.number} ${parent.l1Origin.hash}; the epoch ${epoch.number} does not follow it: ${got}`;
    return { kind: "reset", reason: "origin-mismatch", detail };
  };
  const origin = await l1.blockByHash(epoch.hash);
  if (origin === undefined) return isGone();
  if (epoch.number === parent.l1Origin.number) {
    if (epoch.hash !== parent.l1Origin.hash) return mismatch(epoch.hash);
    const sequenceNumber = parent.sequenceNumber + 1;
    return { kind: "value", value: { origin, deposits: [], systemConfig: parentConfig, sequenceNumber } };
  }
  if (origin.parentHash !== parent.l1Origin.hash) return mismatch(`its parent is ${origin.parentHash}`);
  const receipts = await l1.receipts(origin.hash);
  if (receipts === undefined) return isGone();
  const { deposits, skipped } = depositsFromReceipts(receipts, rollup.depositContractAddress, hexToBytes(origin.hash));
  for (const log of skipped) observer?.onLogSkipped({ block: origin, contract: "OptimismPortal", ...log });
  const { systemConfig } = applySystemConfigUpdates(rollup, parentConfig, receipts, origin.timestamp);
  return { kind: "value", value: { origin, deposits, systemConfig, sequenceNumber: 0 } };
}

const ZERO_EIP1559_PARAMS = new Uint8Array(8);

/** The attributes that only exist from some fork on. */
function forkAttributes(
  { rollup }: DerivationConfig,
  origin: L1BlockHeader,
  systemConfig: SystemConfig,
  timestamp: number,
): Partial<PayloadAttributes> {
  const { hasWithdrawals, hasBeaconRoot, extraDataVersion } = rollupRulesAt(rollup.forkTimes, timestamp);
  const parentRules = rollupRulesAt(rollup.forkTimes, timestamp - rollup.blockTimeSec);
  const isFirstWithParams = parentRules.extraDataVersion === undefined;
  return {
    ...(hasWithdrawals ? { withdrawals: [] } : {}),
    ...(hasBeaconRoot ? { parentBeaconBlockRoot: origin.parentBeaconBlockRoot ?? new Uint8Array(32) } : {}),
    // Zeros make the engine write the chain's constants into the header, where later blocks find them.
    ...(extraDataVersion === undefined
      ? {}
      : { eip1559Params: isFirstWithParams ? ZERO_EIP1559_PARAMS : systemConfig.eip1559Params }),
    ...(hasMinBaseFee(extraDataVersion) ? { minBaseFee: systemConfig.minBaseFee } : {}),
  };
}
