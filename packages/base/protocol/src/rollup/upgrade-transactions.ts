import { hexToBytes, hexToFixedBytes } from "@rnode/primitives";
import type { RollupConfig } from "../chains/rollup-config.ts";
import { firstBlockFacts, forksBeginningAt } from "../forks/fork-times.ts";
import { type NetworkUpgrade, OP_FORKS, type OpFork } from "../forks/op-forks.ts";
import {
  asciiText,
  isFile,
  loadUpgradeArtifact,
  type UpgradeArtifact,
  type UpgradeArtifactSource,
  UpgradeError,
} from "../params/upgrade-artifacts.ts";
import { bundleGas, type UpgradeBundle, type UpgradeStep } from "../params/upgrade-steps.ts";
import { upgradeSourceHash } from "../transactions/deposits.ts";
import type { DepositTransaction } from "../transactions/transaction.ts";

type ForkSchedule = Pick<RollupConfig, "forkTimes" | "blockTimeSec" | "lagoonPreliminary">;

const forksOfBlock = ({ forkTimes, blockTimeSec }: ForkSchedule, l2TimestampSec: number): readonly OpFork[] =>
  forksBeginningAt(forkTimes, l2TimestampSec, l2TimestampSec - blockTimeSec);

/** The gas of upgrades in the block at `l2TimestampSec`, in addition to the SystemConfig's limit. */
export const upgradeGasAt = (config: ForkSchedule, l2TimestampSec: number): bigint => gasOf(config, l2TimestampSec, () => true);

/** The part of `upgradeGasAt` that the next block's limit does not have. */
export function passingUpgradeGasAt(
  config: ForkSchedule & Pick<RollupConfig, "keepKarstUpgradeGas">,
  l2TimestampSec: number,
): bigint {
  return gasOf(config, l2TimestampSec, ({ gasMayStay }) => !(gasMayStay && config.keepKarstUpgradeGas));
}

function gasOf(config: ForkSchedule, l2TimestampSec: number, counts: (bundle: UpgradeBundle) => boolean): bigint {
  let gas = 0n;
  for (const fork of forksOfBlock(config, l2TimestampSec)) {
    const { upgrade } = firstBlockFacts(fork);
    const bundle = bundleOf(upgrade, config.lagoonPreliminary);
    if (bundle !== undefined && counts(bundle)) gas += bundleGas(bundle);
  }
  return gas;
}

function bundleOf(upgrade: NetworkUpgrade, isPreliminary = false): UpgradeBundle | undefined {
  if (upgrade.kind !== "bundle") return undefined;
  return (isPreliminary ? upgrade.preliminary : undefined) ?? upgrade.bundle;
}

/** What upgrade transactions are made of, besides the tables of forks. */
export interface UpgradeInput {
  readonly source?: UpgradeArtifactSource | undefined;
  /** whether the chain's dependency set has other chains; default false */
  readonly isInCluster?: boolean | undefined;
  /** \`lagoonPreliminary\` of the chain; default false */
  readonly isPreliminary?: boolean | undefined;
}

/**
 * The deposits that a fork adds to its activation block.
 *
 * @throws {CodedError} upgrade/missing-artifact, upgrade/wrong-artifact, upgrade/bad-bundle
 */
export function upgradeTransactions(
  fork: OpFork,
  { source, isInCluster = false, isPreliminary }: UpgradeInput = {},
): DepositTransaction[] {
  const { upgrade } = firstBlockFacts(fork);
  const ofSteps = (steps: readonly UpgradeStep[]): DepositTransaction[] => steps.map((step) => stepTransaction(step, source));
  switch (upgrade.kind) {
    case "none":
      return [];
    case "steps":
      return ofSteps(upgrade.steps);
    case "bundle": {
      const bundle = bundleOf(upgrade, isPreliminary)!;
      const { artifact, ofCluster } = bundle;
      const transactions = bundleTransactions(bundle, loadUpgradeArtifact(artifact, source));
      if (ofCluster === undefined || !isInCluster) return transactions;
      return [...ofSteps(ofCluster.before), ...transactions, ...ofSteps(ofCluster.after)];
    }
  }
}

/**
 * The files for upgrades after a block, in the order of the forks.
 *
 * @param l2TimestampSec of the last existing block; its forks are active
 */
export function upgradeFilesAfter(
  { forkTimes, lagoonPreliminary }: Pick<RollupConfig, "forkTimes" | "lagoonPreliminary">,
  l2TimestampSec: number,
): UpgradeArtifact[] {
  return OP_FORKS.flatMap((fork) => {
    if ((forkTimes[fork] ?? Number.NEGATIVE_INFINITY) <= l2TimestampSec) return [];
    const { upgrade } = firstBlockFacts(fork);
    const bundle = bundleOf(upgrade, lagoonPreliminary);
    if (bundle !== undefined) return [bundle.artifact];
    if (upgrade.kind !== "steps") return [];
    return upgrade.steps.flatMap(({ data }) => (data instanceof Uint8Array || !isFile(data) ? [] : [data]));
  });
}

/**
 * The transactions and gas that upgrades add to the block at `l2TimestampSec`: nothing unless it is an activation block; for
 * several forks, in their order.
 *
 * @throws {CodedError} upgrade/*
 */
export function upgradesOfBlock(
  config: ForkSchedule,
  l2TimestampSec: number,
  input?: UpgradeInput,
): { readonly transactions: DepositTransaction[]; readonly extraGas: bigint } {
  const given = { ...input, isPreliminary: config.lagoonPreliminary };
  const transactions = forksOfBlock(config, l2TimestampSec).flatMap((fork) => upgradeTransactions(fork, given));
  return { transactions, extraGas: upgradeGasAt(config, l2TimestampSec) };
}

function stepTransaction(step: UpgradeStep, source: UpgradeArtifactSource | undefined): DepositTransaction {
  const { intent, from, to, gas, data, mint = 0n } = step;
  return {
    type: 0x7e,
    sourceHash: upgradeSourceHash(intent),
    from,
    to,
    mint,
    value: mint,
    gasLimit: gas,
    isSystemTx: false,
    data: data instanceof Uint8Array ? data : loadUpgradeArtifact(data, source),
  };
}

/** The transactions of a published JSON bundle. Its bytes are pinned by hash, so the parser is strict. */
export function bundleTransactions(expected: UpgradeBundle, json: Uint8Array): DepositTransaction[] {
  const bundle = JSON.parse(asciiText(json)) as {
    metadata?: { version?: unknown };
    transactions?: { intent: string; from: string; to: string | null; gasLimit: number | string; data: string }[];
  };
  const { transactions = [] } = bundle;
  const gas = transactions.reduce((sum, { gasLimit }) => sum + BigInt(gasLimit), 0n);
  if (bundle.metadata?.version !== "1.0.0" || transactions.length !== expected.transactions || gas !== expected.gas) {
    throw new UpgradeError("upgrade/bad-bundle", { fork: expected.name, transactions: transactions.length, gas });
  }
  return transactions.map(({ intent, from, to, gasLimit, data }, index) =>
    stepTransaction(
      {
        intent: `${expected.name} ${index}: ${intent}`,
        from: hexToFixedBytes(from, 20),
        to: to === null ? undefined : hexToFixedBytes(to, 20),
        gas: BigInt(gasLimit),
        data: hexToBytes(data),
      },
      undefined,
    ),
  );
}
