import type { BlockExecution, CallOutcome, HaltReason } from "@rnode/evm";
import { RpcError } from "@rnode/jsonrpc";
import { bytesToHex, ZERO_ADDRESS, ZERO_HASH } from "@rnode/primitives";
import { floorDataGas, GAS_PER_BLOB, intrinsicGas, type SignedTransaction } from "@rnode/protocol";
import { feeCap, tipCap } from "@rnode/txpool";
import type { CallRequest } from "../params/call-request.ts";
import { haltText } from "../profile/halt-texts.ts";
import { revertReason } from "./revert-reason.ts";

/** Codes of the reasons why a simulation ends without a result. Spec: execution-apis, eth_simulateV1 */
const CODES = {
  "invalid-params": -32602,
  "nonce-max": -32603,
  "nonce-too-low": -38010,
  "nonce-too-high": -38011,
  "fee-cap-too-low": -38012,
  "intrinsic-gas": -38013,
  "insufficient-funds": -38014,
  "block-gas-limit": -38015,
  "number-order": -38020,
  "time-order": -38021,
  "initcode-too-large": -38025,
  "client-limit": -38026,
} as const;

export const simulationError = (kind: keyof typeof CODES, message: string): RpcError => new RpcError(CODES[kind], message);

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
  if (gasPrice !== undefined && (call.maxFeePerGas !== undefined || call.maxPriorityFeePerGas !== undefined)) {
    throw simulationError("invalid-params", "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified");
  }
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

/**
 * Checks a transaction as a block would, to the extent that the simulation validates. Contracts may always send.
 *
 * @returns wei per unit of gas
 * @throws {RpcError} why the transaction is impossible, which fails the whole simulation
 */
export function checkSimulated(
  execution: BlockExecution,
  { tx, sender }: SimulatedTransaction,
  { validation, gasLeft }: { readonly validation: boolean; readonly gasLeft: bigint },
): bigint {
  const { rules, environment } = execution;
  const address = bytesToHex(sender);
  if (tx.gasLimit > gasLeft) {
    throw simulationError("block-gas-limit", `block gas limit reached: remaining: ${gasLeft}, required: ${tx.gasLimit}`);
  }
  const nonce = execution.getNonce(sender);
  if (validation) {
    const text = `address ${address}, tx: ${tx.nonce} state: ${nonce}`;
    if (tx.nonce < nonce) throw simulationError("nonce-too-low", `nonce too low: ${text}`);
    if (tx.nonce > nonce) throw simulationError("nonce-too-high", `nonce too high: ${text}`);
    if (nonce === MAX_NONCE) throw simulationError("nonce-max", `nonce has max value: address ${address}, nonce: ${nonce}`);
  }
  const cap = feeCap(tx);
  const tip = tipCap(tx);
  const { baseFeePerGas } = environment;
  if (validation || cap > 0n || tip > 0n) {
    if (cap < tip) {
      throw simulationError(
        "invalid-params",
        `max priority fee per gas higher than max fee per gas: address ${address}, maxPriorityFeePerGas: ${tip}, maxFeePerGas: ${cap}`,
      );
    }
    if (cap < baseFeePerGas) {
      throw simulationError(
        "fee-cap-too-low",
        `max fee per gas less than block base fee: address ${address}, maxFeePerGas: ${cap}, baseFee: ${baseFeePerGas}`,
      );
    }
  }
  const blobs =
    tx.type === 0x03 ? { gas: BigInt(tx.blobVersionedHashes.length) * GAS_PER_BLOB, cap: tx.maxFeePerBlobGas } : undefined;
  if (blobs !== undefined && (validation || blobs.cap > 0n) && blobs.cap < environment.blobBaseFee) {
    throw simulationError(
      "fee-cap-too-low",
      `max fee per blob gas less than block blob gas fee: address ${address} blobGasFeeCap: ${blobs.cap}, blobBaseFee: ${environment.blobBaseFee}`,
    );
  }
  const have = execution.getBalance(sender);
  const want = tx.gasLimit * cap + tx.value + (blobs === undefined ? 0n : blobs.gas * maximum(blobs.cap, environment.blobBaseFee));
  if (have < want) {
    const what = cap === 0n ? "insufficient funds for transfer" : "insufficient funds for gas * price + value";
    throw simulationError("insufficient-funds", `${what}: address ${address} have ${have} want ${want}`);
  }
  const intrinsic = intrinsicGas(rules, tx);
  if (tx.gasLimit < intrinsic)
    throw simulationError("intrinsic-gas", `intrinsic gas too low: have ${tx.gasLimit}, want ${intrinsic}`);
  const floor = floorDataGas(rules, tx.data);
  if (tx.gasLimit < floor)
    throw simulationError("intrinsic-gas", `insufficient gas for floor data gas cost: have ${tx.gasLimit}, want ${floor}`);
  if (tx.to === undefined && tx.data.length > rules.maxInitcodeBytes) {
    throw simulationError(
      "initcode-too-large",
      `max initcode size exceeded: code size ${tx.data.length} limit ${rules.maxInitcodeBytes}`,
    );
  }
  if (tx.type === 0x03 && tx.to === undefined) throw simulationError("invalid-params", "blob transaction of type create");
  if (tx.type === 0x04 && tx.to === undefined)
    throw simulationError("invalid-params", "EIP-7702 transaction cannot be used to create contract");
  if (cap === 0n && tip === 0n) return 0n;
  const offered = baseFeePerGas + tip;
  return tx.type === 0x00 || offered > cap ? cap : offered;
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
