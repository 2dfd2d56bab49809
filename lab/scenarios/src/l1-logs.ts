import { bigintToBytes, concatBytes } from "@rnode/primitives";
import { encodeFeeScalar, type Log, type RollupConfig } from "@rnode/protocol";
import {
  badConfigUpdates,
  badDeposits,
  type ConfigUpdateType,
  configUpdateLog,
  depositLog,
  opaqueDeposit,
} from "@rnode/protocol/testing";
import type { LogKind } from "./plan.ts";
import type { Random } from "./random.ts";

export interface L1Logs {
  readonly logs: readonly Log[];
  /** the L2 gas limit that they set; `undefined`: none */
  readonly gasLimit?: bigint;
}

const uint = (value: number, length: number): Uint8Array => bigintToBytes(BigInt(value), length);

/** Logs of the portal or of the SystemConfig contract, in one transaction. Valid ones leave room for blocks. */
export function logsOf(kind: LogKind, config: RollupConfig, random: Random): L1Logs {
  const { depositContractAddress, l1SystemConfigAddress, genesis } = config;
  const update = (type: ConfigUpdateType, ...payload: readonly Uint8Array[]): L1Logs => ({
    logs: [configUpdateLog(l1SystemConfigAddress, type, ...payload)],
  });
  switch (kind) {
    case "deposit": {
      const opaque = opaqueDeposit(BigInt(random.below(1_000)), 100_000n, random.below(2), new Uint8Array(random.below(70)));
      return { logs: [depositLog(depositContractAddress, random.bytes(20), random.bytes(20), opaque)] };
    }
    case "batcher": {
      // The last one counts: the data of the batcher is read as before.
      const batchers = [random.bytes(20), genesis.systemConfig.batcherAddress];
      return { logs: batchers.map((address) => configUpdateLog(l1SystemConfigAddress, "batcher", address)) };
    }
    case "feeScalars": {
      const scalars = { baseFeeScalar: random.below(10_000), blobBaseFeeScalar: random.below(10_000) };
      return update("feeScalars", new Uint8Array(32), encodeFeeScalar(scalars));
    }
    case "gasLimit": {
      const gasLimit = random.between(20, 60) * 1_000_000;
      return { ...update("gasLimit", uint(gasLimit, 8)), gasLimit: BigInt(gasLimit) };
    }
    case "unsafeBlockSigner":
      return update("unsafeBlockSigner", random.bytes(20));
    case "eip1559Params": {
      const params = random.chance(0.3) ? [0, 0] : [random.between(1, 300), random.between(1, 10)];
      return update("eip1559Params", concatBytes(...params.map((value) => uint(value, 4))));
    }
    case "operatorFeeParams":
      return update("operatorFeeParams", concatBytes(uint(random.below(100), 4), uint(random.below(100), 8)));
    case "minBaseFee":
      return update("minBaseFee", uint(random.below(1_000), 8));
    case "daFootprintGasScalar":
      return update("daFootprintGasScalar", uint(random.below(500), 2));
    case "bad-deposit":
      return { logs: [random.pick(badDeposits(depositContractAddress))] };
    case "bad-update":
      return { logs: [random.pick(badConfigUpdates(l1SystemConfigAddress))] };
  }
}
