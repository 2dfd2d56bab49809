import type { Hex } from "@rnode/primitives";
import type { OpFork } from "../forks/op-forks.ts";
import type { OldForkKey } from "./fork-keys.ts";
import type { AltDaConfig } from "./rollup-config.ts";

/** The data of networks-table.json: files of a superchain registry, in its form, without unused keys. */
export interface NetworksTable {
  /** `day` of the commit, as YYYY-MM-DD */
  readonly registry: { readonly commit: string; readonly day: string };
  /** date of the newest facts from upstream's releases */
  readonly amendedDay: string;
  /** chain id of each superchain's L1 */
  readonly superchains: Readonly<Record<string, number>>;
  /** by `<superchain>/<chain>` */
  readonly chains: Readonly<Record<string, unknown>>;
  /** titles of networks that were removed from the registry */
  readonly removed: Readonly<Record<string, string>>;
}

/** Facts of one public rollup. */
export interface Network {
  /** `<superchain>/<chain>`, the place of its file in the registry */
  readonly path: string;
  readonly name: string;
  readonly title: string;
  readonly l1ChainId: number;
  readonly l2ChainId: number;
  readonly blockTimeSec: number;
  readonly seqWindowSize: number;
  readonly maxSequencerDriftSec: number;
  readonly batchInboxAddress: Hex;
  readonly depositContractAddress: Hex;
  readonly l1SystemConfigAddress: Hex;
  readonly dataAvailability: "eth-da" | "alt-da";
  readonly genesis: {
    readonly l1: { readonly hash: Hex; readonly number: number };
    readonly l2: { readonly hash: Hex; readonly number: number };
    readonly l2TimeSec: number;
    readonly batcherAddress: Hex;
    readonly overhead: Hex;
    readonly scalar: Hex;
    readonly gasLimit: number;
  };
  /** Regolith is active at every network's genesis and therefore not listed */
  readonly forkTimes: Readonly<Partial<Record<OpFork, number>>>;
  /** keys of its file that were read under their old names; absent: none */
  readonly oldForkKeys?: readonly OldForkKey[];
  readonly pectraBlobScheduleTime?: number;
  /** the gas of an upgrade stays in the gas limit after the upgrade's block */
  readonly keepKarstUpgradeGas?: true;
  /** ids of the chains whose messages it may execute, ascending; absent: only itself */
  readonly dependencies?: readonly number[];
  readonly eip1559: { readonly elasticity: number; readonly denominator: number; readonly denominatorCanyon: number };
  readonly altDa?: {
    readonly challengeContractAddress: Hex;
    readonly commitmentType: AltDaConfig["daCommitmentType"];
    readonly challengeWindow: number;
    readonly resolveWindow: number;
  };
  /** L1 token that pays for gas; absent: ether */
  readonly gasPayingToken?: Hex;
}
