import { dependencySetToJson, derivationFactsAt, MESSAGE_EXPIRY_WINDOW_SEC, rollupForkTimesToJson } from "@rnode/protocol";
import { concatHex, type Hex, padHex, toHex } from "viem";
import type { DevRoles } from "../accounts.ts";
import type { L1Addresses } from "../l1/l1-contracts.ts";
import type { L1Genesis } from "../l1/l1-deploy.ts";
import { type ChainParameters, l2ForkTimes, needsDependencySet } from "../parameters.ts";

/** Of chains that start before the L1 fee had two scalars; the scalar is in millionths. */
const L1_FEE_OVERHEAD_GAS = 188n;
const L1_FEE_SCALAR = 684_000n;

/** The content of the rollup config file for the rollup nodes. */
export function rollupConfig(
  parameters: ChainParameters,
  roles: DevRoles,
  l1: L1Addresses,
  l1Genesis: L1Genesis,
  l2GenesisHash: Hex,
): object {
  const forkTimes = l2ForkTimes(parameters, l1Genesis.timestampSec);
  const { hasVersionedFeeScalars } = derivationFactsAt(forkTimes, l1Genesis.timestampSec);
  return {
    genesis: {
      l1: { hash: l1Genesis.hash, number: l1Genesis.number },
      l2: { hash: l2GenesisHash, number: 0 },
      l2_time: l1Genesis.timestampSec,
      system_config: {
        batcherAddr: roles.batcher.address,
        ...(hasVersionedFeeScalars
          ? {
              overhead: padHex("0x", { size: 32 }),
              scalar: versionedScalar(parameters.baseFeeScalar, parameters.blobBaseFeeScalar),
            }
          : { overhead: toHex(L1_FEE_OVERHEAD_GAS, { size: 32 }), scalar: toHex(L1_FEE_SCALAR, { size: 32 }) }),
        gasLimit: parameters.l2GasLimit,
        eip1559Params: padHex("0x", { size: 8 }),
        operatorFeeParams: padHex("0x", { size: 32 }),
        minBaseFee: 0,
        daFootprintGasScalar: 0,
      },
    },
    block_time: parameters.l2BlockTimeSec,
    max_sequencer_drift: parameters.maxSequencerDriftSec,
    seq_window_size: parameters.seqWindowSize,
    channel_timeout: parameters.channelTimeoutL1Blocks,
    l1_chain_id: parameters.l1ChainId,
    l2_chain_id: parameters.l2ChainId,
    ...rollupForkTimesToJson(forkTimes),
    ...(needsDependencySet(parameters) && { lagoon_preliminary: true }), // its contracts obey the devnet's feature flag
    batch_inbox_address: parameters.batchInbox,
    ...altDaConfig(parameters, l1),
    deposit_contract_address: l1.OptimismPortal,
    l1_system_config_address: l1.SystemConfig,
    protocol_versions_address: padHex("0x", { size: 20 }),
    chain_op_config: {
      eip1559Elasticity: parameters.eip1559Elasticity,
      eip1559Denominator: parameters.eip1559Denominator,
      eip1559DenominatorCanyon: parameters.eip1559DenominatorCanyon,
    },
  };
}

/** The content of the rollup nodes' file of `--interop.dependency-set`. */
export const dependencySet = ({ l2ChainId, otherChains = [] }: ChainParameters) =>
  dependencySetToJson({ chainIds: [l2ChainId, ...otherChains].map(BigInt), expiryWindowSec: MESSAGE_EXPIRY_WINDOW_SEC });

function altDaConfig({ altDa }: ChainParameters, { DataAvailabilityChallenge: contract }: L1Addresses): object {
  if (altDa === undefined || contract === undefined) return {};
  const isKeccak = altDa.commitments === "keccak256";
  return {
    alt_da: {
      da_challenge_contract_address: isKeccak ? contract : padHex("0x", { size: 20 }),
      da_commitment_type: isKeccak ? "KeccakCommitment" : "GenericCommitment",
      da_challenge_window: altDa.challengeWindow,
      da_resolve_window: altDa.resolveWindow,
    },
  };
}

/** Version 1 ‖ 23 zero bytes ‖ blob base fee scalar u32 ‖ base fee scalar u32. */
function versionedScalar(baseFeeScalar: number, blobBaseFeeScalar: number): Hex {
  return concatHex(["0x01", padHex("0x", { size: 23 }), toHex(blobBaseFeeScalar, { size: 4 }), toHex(baseFeeScalar, { size: 4 })]);
}
