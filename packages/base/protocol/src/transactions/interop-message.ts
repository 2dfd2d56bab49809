import { bigintToBytes, bytesToBigint, CodedError, concatBytes, equalBytes, keccak256, uint64ToBytes } from "@rnode/primitives";
import { PREDEPLOYS } from "../params/predeploys.ts";
import type { Log } from "./receipt.ts";
import type { AccessListEntry } from "./transaction.ts";

export type InteropMessageErrorCode =
  /** an invalid storage key; `reason` says why */
  "interop/bad-access-entry";

/** The log and chain of a message. Spec: docs/protocol/01-execution.md#interop-execution */
export interface MessageIdentifier {
  /** 20 bytes: the contract that emitted the log */
  readonly origin: Uint8Array;
  readonly blockNumber: bigint;
  /** of the log in its block */
  readonly logIndex: number;
  /** seconds; of the block */
  readonly timestamp: bigint;
  readonly chainId: bigint;
}

/** The access list's data about one message that a transaction executes. */
export interface MessageAccess {
  readonly chainId: bigint;
  readonly blockNumber: bigint;
  readonly timestamp: bigint;
  readonly logIndex: number;
  /** 32 bytes, the first of which is 3 */
  readonly checksum: Uint8Array;
}

const LOOKUP = 1;
const CHAIN_ID_EXTENSION = 2;
const CHECKSUM = 3;
const UINT64 = 64n;

/** The hash of a log's payload: its topics, then its data. */
export const messageHash = ({ topics, data }: Pick<Log, "topics" | "data">): Uint8Array => keccak256(...topics, data);

/** The hash of a log with its origin, as supervisors store it. */
export const logHash = (origin: Uint8Array, payloadHash: Uint8Array): Uint8Array => keccak256(origin, payloadHash);

/** Commitment to a message and its position: the storage key of CrossL2Inbox that must be warm. */
export function messageChecksum(id: MessageIdentifier, payloadHash: Uint8Array): Uint8Array {
  const idPacked = concatBytes(
    new Uint8Array(12),
    uint64ToBytes(id.blockNumber),
    uint64ToBytes(id.timestamp),
    bigintToBytes(BigInt(id.logIndex), 4),
  );
  const idLogHash = keccak256(logHash(id.origin, payloadHash), idPacked);
  const checksum = keccak256(idLogHash, bigintToBytes(id.chainId, 32)).slice();
  checksum[0] = CHECKSUM;
  return checksum;
}

/** The storage keys of CrossL2Inbox in the access list of a transaction that executes a message. */
export function encodeMessageAccess({ chainId, blockNumber, timestamp, logIndex, checksum }: MessageAccess): Uint8Array[] {
  const lookup = concatBytes(
    Uint8Array.of(LOOKUP, 0, 0, 0),
    uint64ToBytes(BigInt.asUintN(64, chainId)),
    uint64ToBytes(blockNumber),
    uint64ToBytes(timestamp),
    bigintToBytes(BigInt(logIndex), 4),
  );
  const upper = chainId >> UINT64;
  if (upper === 0n) return [lookup, checksum];
  return [lookup, concatBytes(Uint8Array.of(CHAIN_ID_EXTENSION), new Uint8Array(7), bigintToBytes(upper, 24)), checksum];
}

/** All storage keys of CrossL2Inbox in an access list, in their order. If empty, the transaction executes no message. */
export function messageStorageKeys(accessList: readonly AccessListEntry[]): Uint8Array[] {
  return accessList.flatMap(({ address, storageKeys }) => (equalBytes(address, PREDEPLOYS.crossL2Inbox) ? storageKeys : []));
}

/**
 * The messages in the storage keys of CrossL2Inbox.
 *
 * @throws {CodedError} interop/bad-access-entry
 */
export function decodeMessageAccesses(storageKeys: readonly Uint8Array[]): MessageAccess[] {
  const messages: MessageAccess[] = [];
  let index = 0;
  const bad = (reason: string): CodedError<InteropMessageErrorCode> =>
    new CodedError<InteropMessageErrorCode>(
      "interop/bad-access-entry",
      { index, reason },
      { sentence: "access-list entry {index} of CrossL2Inbox: {reason}" },
    );
  const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);
  while (index < storageKeys.length) {
    const lookup = storageKeys[index]!;
    if (lookup[0] !== LOOKUP) throw bad(`expected a lookup (type ${LOOKUP}), got type ${lookup[0]}`);
    if (!isZero(lookup.subarray(1, 4))) throw bad("bytes 1 to 3 are not zero");
    let chainId = bytesToBigint(lookup.subarray(4, 12));
    let next = storageKeys[++index];
    if (next?.[0] === CHAIN_ID_EXTENSION) {
      if (!isZero(next.subarray(1, 8))) throw bad("bytes 1 to 7 are not zero");
      const upper = bytesToBigint(next.subarray(8));
      if (upper === 0n) throw bad("a chain-id extension of zero");
      chainId |= upper << UINT64;
      next = storageKeys[++index];
    }
    if (next === undefined) throw bad("a lookup without its checksum");
    if (next[0] !== CHECKSUM) throw bad(`expected a checksum (type ${CHECKSUM}), got type ${next[0]}`);
    index++;
    messages.push({
      chainId,
      blockNumber: bytesToBigint(lookup.subarray(12, 20)),
      timestamp: bytesToBigint(lookup.subarray(20, 28)),
      logIndex: Number(bytesToBigint(lookup.subarray(28))),
      checksum: next,
    });
  }
  return messages;
}
