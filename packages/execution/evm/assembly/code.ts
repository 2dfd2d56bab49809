/**
 * Code entries: bytecode with its decoded instructions, cached by code hash across blocks. If the cache exceeds its limit, all
 * entries that no frame is running are evicted; accounts look up their code again by its hash. Initialisation code is not cached:
 * it is freed with its frame.
 */
import {
  A_CODE,
  A_CODE_EPOCH,
  A_CODE_HASH,
  C_BYTES,
  C_DELEGATION,
  C_HASH,
  C_IN_USE,
  C_LENGTH,
  C_NEXT,
  C_TEMPORARY,
  CODE_HEADER,
  F_CODE,
  FRAME_SHIFT,
  FRAMES,
} from "./layout";
import { EMPTY_CODE_HASH, hasCode } from "./accounts";
import { decodedBytes, releaseDecoded } from "./decoder";
import { allocate, blockSize, release } from "./heap";
import { hashWord, INDEX_DESCRIPTOR, indexInsert, indexMask, indexPlaces, indexReset } from "./hash-index";
import { hostLoadCode } from "./host";
import { equal } from "./word";

const INDEX: usize = memory.data(INDEX_DESCRIPTOR, 8);

/** The entry of an account without code. */
const EMPTY_CODE: usize = memory.data(128, 16);

let all: u32 = 0;
/** Heap used by the codes themselves; `decodedBytes` is that of their instructions. */
let bytesInUse: u64 = 0;
let bound: u64 = 128 << 20;

/** A_CODE pointers of accounts with another epoch are stale. */
let epoch: u32 = 1;

/** Frames 0 to this one run code; −1: no frame */
let deepestFrame: i32 = -1;

@inline export function setDeepestFrame(depth: i32): void {
  deepestFrame = depth;
}

export function setCodeCacheBound(bytes: u32): void {
  bound = bytes;
}

export function codeCacheBytes(): u32 {
  return <u32>(bytesInUse + decodedBytes);
}

function bytesOf(code: u32): u64 {
  return blockSize(CODE_HEADER + load<u32>(code, C_LENGTH));
}

function free(code: u32): void {
  releaseDecoded(code);
  release(code, CODE_HEADER + load<u32>(code, C_LENGTH));
}

/** Called before the first use and when new rules change the result of decoding; no frame may be active. */
export function codeCacheReset(): void {
  let code = all;
  while (code != 0) {
    const next = load<u32>(code, C_NEXT);
    free(code);
    code = next;
  }
  all = 0;
  bytesInUse = 0;
  epoch++;
  indexReset(INDEX);
  memory.copy(<u32>EMPTY_CODE + C_HASH, EMPTY_CODE_HASH, 32);
}

/** Drops all codes that no frame is running. */
function evict(): void {
  for (let depth: i32 = 0; depth <= deepestFrame; depth++) {
    const code = load<u32>(FRAMES + ((<u32>depth) << FRAME_SHIFT), F_CODE);
    if (code != 0) store<u32>(code, 1, C_IN_USE);
  }
  let code = all;
  all = 0;
  bytesInUse = 0;
  epoch++;
  indexReset(INDEX);
  while (code != 0) {
    const next = load<u32>(code, C_NEXT);
    if (load<u32>(code, C_IN_USE) != 0) link(code);
    else free(code);
    code = next;
  }
  for (let depth: i32 = 0; depth <= deepestFrame; depth++) {
    const running = load<u32>(FRAMES + ((<u32>depth) << FRAME_SHIFT), F_CODE);
    if (running != 0) store<u32>(running, 0, C_IN_USE);
  }
}

/**
 * Called at the end of a transaction, when no frame is active: empties a full cache, so that evictions during a transaction are
 * rare.
 */
export function trimCodeCache(): void {
  if (bytesInUse + decodedBytes > bound) evict();
}

@inline function link(code: u32): void {
  store<u32>(code, all, C_NEXT);
  all = code;
  bytesInUse += bytesOf(code);
  indexInsert(INDEX, hashWord(code + C_HASH, 1), code);
}

function create(length: u32): u32 {
  const code = allocate(CODE_HEADER + length);
  memory.fill(code, 0, CODE_HEADER);
  store<u32>(code, length, C_LENGTH);
  store<u32>(code, code + CODE_HEADER, C_BYTES);
  return code;
}

/** Makes room for `length` bytes of code with the hash at `hash`; the caller fills in the bytes and calls `finishCode`. */
export function reserveCode(hash: u32, length: u32): u32 {
  if (bytesInUse + decodedBytes > bound) evict();
  const code = create(length);
  memory.copy(code + C_HASH, hash, 32);
  return code;
}

/** Called when the bytes are complete: makes the entry visible. */
export function finishCode(code: u32): void {
  const bytes = load<u32>(code, C_BYTES);
  // EIP-7702: 0xef0100 and an address
  const isDelegation =
    load<u32>(code, C_LENGTH) == 23 && load<u8>(bytes) == 0xef && load<u8>(bytes, 1) == 0x01 && load<u8>(bytes, 2) == 0x00;
  store<u32>(code, u32(isDelegation), C_DELEGATION);
  link(code);
}

/** An entry outside the cache, for code that runs once; released by `freeTemporaryCode`. */
export function temporaryCode(bytes: u32, length: u32): u32 {
  const code = create(length);
  memory.copy(code + CODE_HEADER, bytes, length);
  store<u32>(code, 1, C_TEMPORARY);
  return code;
}

export function freeTemporaryCode(code: u32): void {
  if (load<u32>(code, C_TEMPORARY) != 0) free(code);
}

/** The cached entry of a hash, 0: none. */
export function findCode(hash: u32): u32 {
  const places = indexPlaces(INDEX);
  const mask = indexMask(INDEX);
  let i = hashWord(hash, 1) & mask;
  while (true) {
    const entry = load<u32>(places + (i << 3));
    if (entry == 0) return 0;
    if (equal(entry + C_HASH, hash)) return entry;
    i = (i + 1) & mask;
  }
}

/** The code entry of an account, loaded if missing. It is valid until the next code is loaded. */
export function codeOf(account: u32): u32 {
  if (load<u32>(account, A_CODE_EPOCH) == epoch) return load<u32>(account, A_CODE);
  let code: u32;
  if (!hasCode(account)) code = <u32>EMPTY_CODE;
  else {
    code = findCode(account + A_CODE_HASH);
    if (code == 0) code = hostLoadCode(account + A_CODE_HASH);
  }
  store<u32>(account, code, A_CODE);
  store<u32>(account, epoch, A_CODE_EPOCH);
  return code;
}
