import { concatBytes, EMPTY_BYTES, EMPTY_KECCAK, isZeroBytes } from "@rnode/primitives";
import { type Authorization, recoverAuthority } from "@rnode/protocol";
import type { BlockScope } from "./scope.ts";

const DESIGNATOR_PREFIX = Uint8Array.of(0xef, 0x01, 0x00);
const MAX_NONCE = 2n ** 64n - 1n;
/** PER_EMPTY_ACCOUNT_COST − PER_AUTH_BASE_COST */
const EXISTING_ACCOUNT_REFUND = 12_500n;

/** Whether code is an EIP-7702 delegation designator. */
export function isDelegated(code: Uint8Array): boolean {
  return (
    code.length === 23 && code[0] === DESIGNATOR_PREFIX[0] && code[1] === DESIGNATOR_PREFIX[1] && code[2] === DESIGNATOR_PREFIX[2]
  );
}

/** Applies the valid delegations and skips the others; returns the gas to refund. Spec: EIP-7702 */
export function applyAuthorizations(scope: BlockScope, authorizations: readonly Authorization[]): bigint {
  let refund = 0n;
  for (const authorization of authorizations) refund += applyAuthorization(scope, authorization);
  return refund;
}

function applyAuthorization({ state, rules }: BlockScope, authorization: Authorization): bigint {
  const { chainId, address, nonce } = authorization;
  if ((chainId !== 0n && chainId !== rules.chainId) || nonce >= MAX_NONCE) return 0n;
  const authority = recoverAuthority(authorization);
  if (authority === undefined) return 0n;
  state.warmAccount(authority);
  const account = state.account(authority);
  if (!state.hasCodeHash(account, EMPTY_KECCAK) && !isDelegated(state.code(account))) return 0n;
  if (state.nonce(account) !== nonce) return 0n;
  const refund = state.exists(account) ? EXISTING_ACCOUNT_REFUND : 0n;
  state.setCode(account, isZeroBytes(address) ? EMPTY_BYTES : concatBytes(DESIGNATOR_PREFIX, address));
  state.setNonce(account, nonce + 1n);
  return refund;
}
