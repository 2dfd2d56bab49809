import { padBytesLeft } from "@rnode/primitives";
import type { BlockRules } from "@rnode/protocol";
import type { EngineInstance } from "../engine/host.ts";
import { ENV_BLOB_COUNT, ENV_BLOB_HASHES, ENV_GAS_PRICE, ENV_ORIGIN } from "../engine/layout.ts";
import type { MessageResult, StateAccess } from "../engine/state-access.ts";
import type { BlockEnvironment, TransactionOutcome, TransactionRejection } from "../execution.ts";

/** Shared state of a block's transactions. */
export interface BlockScope {
  readonly rules: BlockRules;
  readonly environment: BlockEnvironment;
  readonly state: StateAccess;
  readonly instance: EngineInstance;
}

/** Like `TransactionResult`, with the gas that is taken from the block's pool. */
export type Applied = { readonly kind: "included"; readonly outcome: TransactionOutcome; readonly poolGas: bigint } | Rejected;

export interface Rejected {
  readonly kind: "rejected";
  readonly reason: TransactionRejection;
  readonly data: Readonly<Record<string, string | bigint>>;
}

export const rejected = (reason: TransactionRejection, data: Rejected["data"] = {}): Rejected => ({
  kind: "rejected",
  reason,
  data,
});

/** Sets ORIGIN, GASPRICE and BLOBHASH of the transaction. */
export function writeTransactionEnvironment(
  { instance }: BlockScope,
  origin: Uint8Array,
  gasPrice: bigint,
  blobHashes: readonly Uint8Array[],
): void {
  const { memory } = instance;
  memory.setRawWord(ENV_ORIGIN, padBytesLeft(origin, 32));
  memory.setWord(ENV_GAS_PRICE, gasPrice);
  memory.setU32(ENV_BLOB_COUNT, blobHashes.length);
  for (const [index, hash] of blobHashes.entries()) memory.setRawWord(ENV_BLOB_HASHES + 32 * index, hash);
}

interface AccessListItem {
  readonly address: Uint8Array;
  readonly storageKeys: readonly Uint8Array[];
}

/** Accounts and slots that are warm from the start. Spec: EIP-2929, EIP-2930, EIP-3651; precompiles are always warm in the engine. */
export function warmUp(
  scope: BlockScope,
  sender: Uint8Array,
  to: Uint8Array | undefined,
  accessList: readonly AccessListItem[],
): void {
  const { state, environment, rules } = scope;
  if (!rules.chargesColdAccess) return;
  state.warmAccount(sender);
  if (to !== undefined) state.warmAccount(to);
  if (rules.startsWithWarmBeneficiary) state.warmAccount(environment.beneficiary);
  for (const { address, storageKeys } of accessList) {
    const account = state.warmAccount(address);
    for (const key of storageKeys) state.warmSlot(account, key);
  }
}

/** Gas used after the refund, which is limited to a fraction of it. Spec: EIP-3529 */
export function gasAfterRefund(scope: BlockScope, gasLimit: bigint, result: MessageResult, extraRefund: bigint): bigint {
  const used = gasLimit - result.gasLeft;
  const limit = used / scope.rules.maxRefundQuotient;
  const refund = result.refund + extraRefund;
  return used - (refund < limit ? refund : limit);
}
