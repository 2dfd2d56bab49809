import { type Hex, keccak256, parseEther, stringToHex } from "viem";
import type { DevRoles } from "../accounts.ts";
import type { ChainParameters } from "../parameters.ts";
import type { DeployPlanBuilder, DeployStep } from "./deploy-plan.ts";

export interface DisputeGameAddresses {
  readonly DisputeGameFactory: Hex;
  readonly AnchorStateRegistry: Hex;
  readonly DelayedWETH: Hex;
}

/** Games that only the proposer may create and only the challenger may dispute. */
export const PERMISSIONED_GAME = 1;

const INIT_BOND = parseEther("0.08");
/** The game's shape on production networks. */
const MAX_GAME_DEPTH = 73n;
const SPLIT_DEPTH = 30n;
const MIN_PREIMAGE_BYTES = 126_000n;
const PREIMAGE_CHALLENGE_SEC = 86_400n;
/** The program that would decide a dispute. The devnet has none, so no dispute can be won by executing its steps. */
const ABSOLUTE_PRESTATE = keccak256(stringToHex("the devnet has no fault proof program"));
/** What games begin from, as new chains have it until the first game is resolved: any root that is not zero. */
const STARTING_ROOT = keccak256(stringToHex("anchor state of the devnet's genesis"));

export const disputeGameProxies = (plan: DeployPlanBuilder): DisputeGameAddresses => ({
  DisputeGameFactory: plan.proxy("DisputeGameFactory"),
  AnchorStateRegistry: plan.proxy("AnchorStateRegistry"),
  DelayedWETH: plan.proxy("DelayedWETH"),
});

/** How the withdrawal window is divided: first the game can be disputed, then its result. Seconds. */
export function gameWindows({ finalizationPeriodSec: windowSec }: ChainParameters): { clockSec: bigint; finalitySec: bigint } {
  const clockSec = Math.ceil(windowSec / 2);
  return { clockSec: BigInt(clockSec), finalitySec: BigInt(windowSec - clockSec) };
}

/**
 * Everything that permissioned dispute games need. @returns the last step, which may be sent by itself
 */
export function planDisputeGames(
  plan: DeployPlanBuilder,
  addresses: DisputeGameAddresses & { readonly SuperchainConfig: Hex },
  roles: DevRoles,
  parameters: ChainParameters,
): DeployStep {
  const deployer = roles.owner.address;
  const { clockSec } = gameWindows(parameters);
  const { DisputeGameFactory, AnchorStateRegistry, DelayedWETH } = addresses;
  plan.install("DisputeGameFactory", DisputeGameFactory, [deployer]);
  plan.install("DelayedWETH", DelayedWETH, [deployer, addresses.SuperchainConfig], [BigInt(parameters.finalizationPeriodSec)]);
  const oracle = plan.create("PreimageOracle", [MIN_PREIMAGE_BYTES, PREIMAGE_CHALLENGE_SEC]);
  const vm = plan.create("MIPS", [oracle]);
  const game = plan.create("PermissionedDisputeGame", [
    PERMISSIONED_GAME,
    ABSOLUTE_PRESTATE,
    MAX_GAME_DEPTH,
    SPLIT_DEPTH,
    0n, // no extension of a clock
    clockSec,
    vm,
    DelayedWETH,
    AnchorStateRegistry,
    BigInt(parameters.l2ChainId),
    roles.proposer.address,
    roles.challenger.address,
  ]);
  const named = plan.create("SequenceNumberGame", [game]);
  plan.call(DisputeGameFactory, "DisputeGameFactory", "setImplementation", [PERMISSIONED_GAME, named]);
  plan.call(DisputeGameFactory, "DisputeGameFactory", "setInitBond", [PERMISSIONED_GAME, INIT_BOND]);
  const registry = plan.implement("AnchorStateRegistry", [DisputeGameFactory]);
  const anchor = { gameType: PERMISSIONED_GAME, outputRoot: { root: STARTING_ROOT, l2BlockNumber: 0n } };
  return plan.upgradeStep("AnchorStateRegistry", AnchorStateRegistry, registry, [[anchor]]);
}
