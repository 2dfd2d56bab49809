import type { Hex } from "@rnode/primitives";
import type { OpFork } from "./forks/op-forks.ts";
import type { AltDaConfig } from "./rollup-config.ts";

/** Facts of one public rollup, in the form of the generated table. */
export interface Network {
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
  readonly pectraBlobScheduleTime?: number;
  readonly eip1559: { readonly elasticity: number; readonly denominator: number; readonly denominatorCanyon: number };
  readonly altDa?: {
    readonly challengeContractAddress: Hex;
    readonly commitmentType: AltDaConfig["daCommitmentType"];
    readonly challengeWindow: number;
    readonly resolveWindow: number;
  };
  /** L1 token that pays for gas; missing: ether */
  readonly gasPayingToken?: Hex;
}
