import type { BlockExecution, CallOutcome, HaltReason } from "@rnode/evm";
import { RpcError } from "@rnode/jsonrpc";
import { bytesToHex, ZERO_ADDRESS, ZERO_HASH } from "@rnode/primitives";
import { type BlockRules, floorDataGas, GAS_PER_BLOB, intrinsicGas, type SignedTransaction } from "@rnode/protocol";
import { feeCap } from "@rnode/txpool";
import type { CallRequest } from "../params/call-request.ts";
import { haltText } from "../profile/halt-texts.ts";
import type { Profile, SimulationFault } from "../profile/profile.ts";
import { SIMULATION_CODES } from "../profile/simulation-codes.ts";
import { contentsFault, feeFault } from "./call-validity.ts";
import { revertReason } from "./revert-reason.ts";

export const simulationError = (kind: keyof typeof SIMULATION_CODES, message: string): RpcError =>
  new RpcError(SIMULATION_CODES[kind], message);

const REVERTED = 3;
const VM_ERROR = -32015;
const MAX_NONCE = 2n ** 64n - 1n;
const NO_SIGNATURE = { r: ZERO_HASH, s: ZERO_HASH, yParity: 0 } as const;

/** The transaction that a call amounts to, with missing fields filled in. */
export interface SimulatedTransaction {
  readonly tx: SignedTransaction;
  readonly sender: Uint8Array;
}

/** Like Geth, creates a fee market (EIP-1559) transaction unless the call says otherwise. */
export function transactionOfCall(call: CallRequest, chainId: bigint, nonce: bigint, gasLimit: bigint): SimulatedTransaction {
  const { to, value, data, gasPrice, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n, accessList = [] } = call;
  const common = { chainId, nonce: call.nonce ?? nonce, gasLimit, to, value, data, signature: NO_SIGNATURE };
  const market = { ...common, maxFeePerGas, maxPriorityFeePerGas, accessList };
  const { authorizationList, blobVersionedHashes, maxFeePerBlobGas = 0n } = call;
  const tx: SignedTransaction =
    authorizationList !== undefined
      ? { type: 0x04, ...market, authorizationList }
      : blobVersionedHashes !== undefined
        ? { type: 0x03, ...market, blobVersionedHashes, maxFeePerBlobGas }
        : gasPrice !== undefined
          ? { type: 0x00, ...common, gasPrice }
          : { type: 0x02, ...market };
  return { tx, sender: call.from ?? ZERO_ADDRESS };
}

/** What `checkSimulated` has to know of the block and the request. */
export interface SimulationScope {
  readonly profile: Profile;
  readonly execution: BlockExecution;
  /** the request wants nonces and fees checked; otherwise a call without fees is free */
  readonly validation: boolean;
}

/**
 * Why a block could not contain the transaction of a simulated call, to the extent that the simulation validates. Contracts may always send.
 *
 * @returns the first fault in the order of the profile's client; `undefined`: the call can run
 */
export function simulationFault(
  { profile, execution, validation }: SimulationScope,
  call: CallRequest,
  { tx, sender }: SimulatedTransaction,
): SimulationFault | undefined {
  const { rules, environment } = execution;
  const surroundings = { rules, ...environment };
  const ofNonce = validation ? nonceFault(execution, tx, sender) : maxNonceFault(execution, sender);
  const { checksNonceLate } = profile.calls;
  return (
    (checksNonceLate ? undefined : ofNonce) ??
    feeFault(profile, call, surroundings, validation) ??
    contentsFault(profile, call, surroundings, validation) ??
    (checksNonceLate ? (gasFault(rules, tx) ?? ofNonce) : undefined) ??
    fundsFault(execution, tx, sender) ??
    gasFault(rules, tx)
  );
}

const maxNonceFault = (execution: BlockExecution, sender: Uint8Array): SimulationFault | undefined => {
  const nonce = execution.getNonce(sender);
  return nonce === MAX_NONCE ? { kind: "nonce", fault: "max", address: bytesToHex(sender), have: nonce, want: nonce } : undefined;
};

function nonceFault(execution: BlockExecution, tx: SignedTransaction, sender: Uint8Array): SimulationFault | undefined {
  const want = execution.getNonce(sender);
  const compared = { kind: "nonce", address: bytesToHex(sender), have: tx.nonce, want } as const;
  if (tx.nonce < want) return { ...compared, fault: "too-low" };
  if (tx.nonce > want) return { ...compared, fault: "too-high" };
  return maxNonceFault(execution, sender);
}

function fundsFault(execution: BlockExecution, tx: SignedTransaction, sender: Uint8Array): SimulationFault | undefined {
  const haveWei = execution.getBalance(sender);
  const gasWei = tx.gasLimit * feeCap(tx);
  const blobs = tx.type === 0x03 ? BigInt(tx.blobVersionedHashes.length) * GAS_PER_BLOB : 0n;
  const blobPrice = tx.type === 0x03 ? maximum(tx.maxFeePerBlobGas, execution.environment.blobBaseFee) : 0n;
  const valueWei = tx.value + blobs * blobPrice;
  if (haveWei >= gasWei + valueWei) return undefined;
  return { kind: "insufficient-funds", address: bytesToHex(sender), haveWei, valueWei, gasWei, affordableGas: 0n };
}

function gasFault(rules: BlockRules, tx: SignedTransaction): SimulationFault | undefined {
  const { gasLimit } = tx;
  const intrinsic = intrinsicGas(rules, tx);
  if (gasLimit < intrinsic) return { kind: "intrinsic-gas", of: "transaction", gasLimit, minimum: intrinsic };
  const floor = floorDataGas(rules, tx.data);
  return gasLimit < floor ? { kind: "intrinsic-gas", of: "floor", gasLimit, minimum: floor } : undefined;
}

const maximum = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** How a call that was executed but failed is shown. */
export function failureOf(
  halt: HaltReason,
  { output, invalidOpcode }: CallOutcome,
): { code: number; message: string; data?: string } {
  if (halt !== "revert") return { code: VM_ERROR, message: haltText(halt, invalidOpcode) };
  const reason = revertReason(output);
  const message = reason === undefined ? "execution reverted" : `execution reverted: ${reason}`;
  return { code: REVERTED, message, data: bytesToHex(output) };
}
