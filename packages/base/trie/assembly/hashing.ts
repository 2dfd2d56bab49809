/**
 * Hashes of many messages. PERF: if the host has SIMD lanes, messages are collected and hashed together. Otherwise each message
 * is hashed when its hash is needed.
 */
import { keccak256 } from "../../../execution/evm/assembly/keccak";
import { hostHashAll, hostHasLanes } from "./host";
import { areaAt, copyBytes, DIGESTS, MAX_MESSAGES, MESSAGE_ENDS, MESSAGES, MESSAGES_SIZE, reserve } from "./memory";

@inline const DIGEST_SIZE: u32 = 32;
/** Measured: fewer are faster one by one. */
@inline const MIN_TOGETHER: u32 = 3;

/** messages since `startHashing`; messages at MESSAGES without a digest; bytes of these */
let messageCount: u32 = 0;
let collected: u32 = 0;
let collectedSize: u32 = 0;

/** Clears all messages. */
export function startHashing(): void {
  messageCount = 0;
  collected = 0;
  collectedSize = 0;
}

/** @param size at most MESSAGES_SIZE. @returns the message's number, from 0, for `writeHash` after `finishHashing` */
export function addMessage(from: u32, size: u32): u32 {
  if (!hostHasLanes) return 0;
  if (collected == MAX_MESSAGES || collectedSize + size > MESSAGES_SIZE) hashCollected();
  copyBytes(MESSAGES + collectedSize, from, size);
  collectedSize += size;
  store<u32>(MESSAGE_ENDS + (collected++ << 2), collectedSize);
  return messageCount++;
}

/** Afterwards, the hashes of all messages can be written. */
export function finishHashing(): void {
  if (collected != 0) hashCollected();
}

/** Writes the hash of the message with this number, whose `size` bytes are still at `from`. */
export function writeHash(index: u32, from: u32, size: u32, out: u32): void {
  if (hostHasLanes) copyBytes(out, areaAt(DIGESTS) + index * DIGEST_SIZE, DIGEST_SIZE);
  else keccak256(from, size, out);
}

function hashCollected(): void {
  const before = (messageCount - collected) * DIGEST_SIZE;
  const digests = reserve(DIGESTS, messageCount * DIGEST_SIZE, before) + before;
  if (collected >= MIN_TOGETHER) {
    hostHashAll(MESSAGES, collectedSize, MESSAGE_ENDS, collected, digests);
  } else {
    let from: u32 = 0;
    for (let i: u32 = 0; i < collected; i++) {
      const end = load<u32>(MESSAGE_ENDS + (i << 2));
      keccak256(MESSAGES + from, end - from, digests + i * DIGEST_SIZE);
      from = end;
    }
  }
  collected = 0;
  collectedSize = 0;
}
