import {
  addressShape,
  arrayShape,
  booleanShape,
  bytesShape,
  countShape,
  hashShape,
  objectShape,
  type Shape,
  uint64Shape,
  uint256Shape,
} from "@rnode/jsonrpc";
import type { Withdrawal } from "@rnode/protocol";
import { callRequestShape, stateOverrideShape } from "./call-request.ts";

/** Spec: execution-apis, eth_simulateV1 */
export const MAX_SIMULATED_BLOCKS = 256;

const withdrawalShape: Shape<Withdrawal> = objectShape(
  { index: uint64Shape, validatorIndex: uint64Shape, address: addressShape, amount: uint64Shape },
  {},
);

const simulatedBlockOverrideShape = objectShape(
  {},
  {
    number: countShape,
    time: uint64Shape,
    difficulty: uint256Shape,
    gasLimit: uint64Shape,
    feeRecipient: addressShape,
    prevRandao: bytesShape(32),
    baseFeePerGas: uint256Shape,
    blobBaseFee: uint256Shape,
    beaconRoot: hashShape,
    withdrawals: arrayShape(withdrawalShape),
  },
);

const simulatedBlockShape = objectShape(
  {},
  { blockOverrides: simulatedBlockOverrideShape, stateOverrides: stateOverrideShape, calls: arrayShape(callRequestShape) },
);

/** The parameter of `eth_simulateV1`. */
export const simulateRequestShape = objectShape(
  { blockStateCalls: arrayShape(simulatedBlockShape) },
  { traceTransfers: booleanShape, validation: booleanShape, returnFullTransactions: booleanShape },
);

export type SimulateRequest = ReturnType<typeof simulateRequestShape.parse>;
export type SimulatedBlock = ReturnType<typeof simulatedBlockShape.parse>;
