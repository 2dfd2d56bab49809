import { bigintToBytes, bytesToBigint, codedErrors, concatBytes, keccak256, uint64ToBytes } from "@rnode/primitives";
import type { BlockId } from "./refs.ts";

/** The output root of a chain's newest block at a time. */
export interface ChainOutput {
  /** below 2^256 */
  readonly chainId: bigint;
  /** 32 bytes */
  readonly outputRoot: Uint8Array;
}

/** The preimage of a super root: the outputs of all chains of a dependency set at one L2 time. */
export interface SuperRoot {
  /** below 2^53 */
  readonly timestampSec: number;
  /** ascending by chain id */
  readonly chains: readonly ChainOutput[];
}

export type SuperRootErrorCode =
  /** `reason` says why */
  "super-root/invalid";

export class SuperRootError extends codedErrors<SuperRootErrorCode>({
  "super-root/invalid": "this is not a super root: {reason}",
}) {}

const invalid = (reason: string): SuperRootError => new SuperRootError("super-root/invalid", { reason });

const VERSION = 1;
const TIME_AT = 1;
const CHAINS_AT = 9;
const CHAIN_BYTES = 64;

/**
 * A super root of outputs in any order. Spec: docs/protocol/02-derivation.md#output-roots
 *
 * @throws {SuperRootError} super-root/invalid: no chain, or the same twice
 */
export function createSuperRoot(timestampSec: number, outputs: readonly ChainOutput[]): SuperRoot {
  const chains = [...outputs].sort((a, b) => (a.chainId < b.chainId ? -1 : a.chainId > b.chainId ? 1 : 0));
  assertAscending(chains);
  return { timestampSec, chains };
}

/** The marshalled form: 01 ‖ time u64 ‖ (chain id u256 ‖ output root 32) for each chain. It is the extra data of super games. */
export function encodeSuperRoot({ timestampSec, chains }: SuperRoot): Uint8Array {
  const parts = chains.flatMap(({ chainId, outputRoot }) => [bigintToBytes(chainId, 32), outputRoot]);
  return concatBytes(Uint8Array.of(VERSION), uint64ToBytes(timestampSec), ...parts);
}

/** @throws {SuperRootError} */
export function decodeSuperRoot(bytes: Uint8Array): SuperRoot {
  const [version] = bytes;
  if (version !== VERSION) throw invalid(`expected version ${VERSION}, got ${version ?? "no bytes"}`);
  const sizeBytes = bytes.length;
  if (sizeBytes < CHAINS_AT + CHAIN_BYTES || (sizeBytes - CHAINS_AT) % CHAIN_BYTES !== 0) {
    throw invalid(`expected 9 bytes and 64 for each chain, got ${sizeBytes} bytes`);
  }
  const time = bytesToBigint(bytes.subarray(TIME_AT, CHAINS_AT));
  if (time > BigInt(Number.MAX_SAFE_INTEGER)) throw invalid(`its time is ${time} seconds, above 2^53 − 1`);
  const chains: ChainOutput[] = [];
  for (let at = CHAINS_AT; at < sizeBytes; at += CHAIN_BYTES) {
    chains.push({ chainId: bytesToBigint(bytes.subarray(at, at + 32)), outputRoot: bytes.subarray(at + 32, at + CHAIN_BYTES) });
  }
  assertAscending(chains);
  return { timestampSec: Number(time), chains };
}

/** The commitment itself, 32 bytes. */
export const superRootHash = (superRoot: SuperRoot): Uint8Array => keccak256(encodeSuperRoot(superRoot));

/** A chain's output at a time, with the first L1 block whose data makes its block safe. */
export interface DerivedChainOutput extends ChainOutput {
  readonly requiredL1: BlockId;
}

/**
 * The super root of a set whose outputs are final decisions at that time, and the first L1 block that has the data of all of them.
 *
 * @param chainIds the dependency set
 * @returns `undefined` if a chain of the set has no output yet
 */
export function superRootOfSet(
  timestampSec: number,
  chainIds: readonly bigint[],
  outputs: readonly DerivedChainOutput[],
): { readonly superRoot: SuperRoot; readonly requiredL1: BlockId } | undefined {
  const ofSet = chainIds.map((id) => outputs.find(({ chainId }) => chainId === id));
  const complete = ofSet.filter((output) => output !== undefined);
  if (complete.length < ofSet.length || complete.length === 0) return undefined;
  const requiredL1 = complete
    .map((output) => output.requiredL1)
    .reduce((latest, next) => (next.number > latest.number ? next : latest));
  return { superRoot: createSuperRoot(timestampSec, complete), requiredL1 };
}

function assertAscending(chains: readonly ChainOutput[]): void {
  const isAscending = chains.every(({ chainId }, index) => index === 0 || chainId > chains[index - 1]!.chainId);
  if (chains.length > 0 && isAscending) return;
  const got = chains.map(({ chainId }) => String(chainId)).join(", ") || "none";
  throw invalid(`expected chains in ascending order, each once, got ${got}`);
}
