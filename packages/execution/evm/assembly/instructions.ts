/** Instructions that are too long for the interpreter's switch. Those with dynamic gas return the gas left; negative: not enough. */
import {
  A_BALANCE,
  A_CODE_HASH,
  BERLIN,
  C_BYTES,
  C_LENGTH,
  CANCUN,
  ENV_BLOB_COUNT,
  ENV_BLOB_HASHES,
  ENV_NUMBER,
  F_CODE,
  F_INPUT,
  F_INPUT_LENGTH,
  F_MEMORY,
  F_MEMORY_SIZE,
  F_OUTPUT,
  F_OUTPUT_LENGTH,
  F_SELF,
  LONDON,
  SPURIOUS_DRAGON,
  TANGERINE_WHISTLE,
  X_HASH,
  X_VALUE,
} from "./layout";
import {
  accessCost,
  clearBalance,
  decreaseBalance,
  ensureLoaded,
  findEntry,
  increaseBalance,
  isCreatedNow,
  isDead,
  isDestroyed,
  markDestroyed,
  touch,
  warmAccount,
} from "./accounts";
import { codeOf } from "./code";
import { copyPadded, expandMemory, placeOf, rangeEnd, touchRange } from "./evm-memory";
import { announceBytes, hostBlockHash, hostTraceSelfDestruct } from "./host";
import { keccakPair, keccakWord } from "./keccak";
import { appendLog } from "./logs";
import { returnData, returnDataLength } from "./output";
import { fork, tracing } from "./rules";
import { refund, setRefund } from "./storage";
import { byteLength, copyWord, fits64, isZero, readRaw, setWord, zeroWord } from "./word";

/** Words of a length that a range check has accepted. */
@inline function wordsOf(length: u32): i64 {
  return <i64>((load<u64>(length) + 31) >> 5);
}

/** KECCAK256: offset and length on top of the stack, the digest replaces the length. */
export function keccakInstruction(f: u32, sp: u32, gas: i64): i64 {
  let left = touchRange(f, sp, sp - 32, gas);
  if (left < 0) return left;
  left -= 6 * wordsOf(sp - 32);
  if (left < 0) return left;
  const from = placeOf(f, sp, sp - 32);
  if (load<u64>(sp - 32) == 64) keccakPair(from, sp - 32);
  else {
    announceBytes(<u32>load<u64>(sp - 32));
    keccakWord(from, <u32>load<u64>(sp - 32), sp - 32);
  }
  return left;
}

/** EXP's price per byte of the exponent (EIP-160). */
export function expGas(exponent: u32): i64 {
  return (fork >= SPURIOUS_DRAGON ? 50 : 10) * <i64>byteLength(exponent);
}

/** CALLDATALOAD: replaces the offset at `sp` by the word, with zeros beyond the end. */
export function loadCallData(f: u32, sp: u32): void {
  const length = load<u32>(f, F_INPUT_LENGTH);
  const offset = load<u64>(sp);
  if (!fits64(sp) || offset >= <u64>length) {
    zeroWord(sp);
    return;
  }
  const at = <u32>offset;
  const from = load<u32>(f, F_INPUT) + at;
  if (at + 32 <= length) {
    readRaw(sp, from);
    return;
  }
  zeroWord(sp);
  const available = length - at;
  for (let i: u32 = 0; i < available; i++) store<u8>(sp + 31 - i, load<u8>(from + i));
}

/** Copies a source to memory: destination, offset and length are the words at `to`, `from`, `length`. */
@inline function copyToMemory(f: u32, to: u32, from: u32, length: u32, source: u32, sourceLength: u32, gas: i64): i64 {
  let left = touchRange(f, to, length, gas);
  if (left < 0) return left;
  left -= 3 * wordsOf(length);
  if (left < 0) return left;
  const n = <u32>load<u64>(length);
  if (n != 0) copyPadded(placeOf(f, to, length), source, sourceLength, from, n);
  return left;
}

export function copyCallData(f: u32, sp: u32, gas: i64): i64 {
  return copyToMemory(f, sp, sp - 32, sp - 64, load<u32>(f, F_INPUT), load<u32>(f, F_INPUT_LENGTH), gas);
}

export function copyCode(f: u32, sp: u32, gas: i64): i64 {
  const code = load<u32>(f, F_CODE);
  return copyToMemory(f, sp, sp - 32, sp - 64, load<u32>(code, C_BYTES), load<u32>(code, C_LENGTH), gas);
}

/** Whether the range of RETURNDATACOPY is within the return data. */
export function returnDataHolds(offset: u32, length: u32): bool {
  if (!fits64(offset) || !fits64(length)) return false;
  const o = load<u64>(offset);
  const n = load<u64>(length);
  const end = o + n;
  return end >= o && end <= <u64>returnDataLength();
}

export function copyReturnData(f: u32, sp: u32, gas: i64): i64 {
  return copyToMemory(f, sp, sp - 32, sp - 64, returnData(), returnDataLength(), gas);
}

/** MCOPY (EIP-5656): the ranges may overlap. */
export function copyMemory(f: u32, sp: u32, gas: i64): i64 {
  const end = max(rangeEnd(sp, sp - 64), rangeEnd(sp - 32, sp - 64));
  let left = end > <u64>load<u32>(f, F_MEMORY_SIZE) ? expandMemory(f, end, gas) : gas;
  if (left < 0) return left;
  left -= 3 * wordsOf(sp - 64);
  if (left < 0) return left;
  const n = <u32>load<u64>(sp - 64);
  if (n != 0) {
    announceBytes(n);
    memory.copy(placeOf(f, sp, sp - 64), placeOf(f, sp - 32, sp - 64), n);
  }
  return left;
}

/** BALANCE: replaces the address at `sp` by the balance. */
export function balanceInstruction(sp: u32, gas: i64): i64 {
  const account = findEntry(sp);
  const left = gas - accessCost(account);
  if (left < 0) return left;
  ensureLoaded(account);
  copyWord(sp, account + A_BALANCE);
  return left;
}

export function codeSizeInstruction(sp: u32, gas: i64): i64 {
  const account = findEntry(sp);
  const left = gas - accessCost(account);
  if (left < 0) return left;
  ensureLoaded(account);
  setWord(sp, load<u32>(codeOf(account), C_LENGTH));
  return left;
}

/** EXTCODEHASH (EIP-1052): 0 for an account that does not exist or is empty. */
export function codeHashInstruction(sp: u32, gas: i64): i64 {
  const account = findEntry(sp);
  const left = gas - accessCost(account);
  if (left < 0) return left;
  ensureLoaded(account);
  if (isDead(account)) zeroWord(sp);
  else readRaw(sp, account + A_CODE_HASH);
  return left;
}

/** EXTCODECOPY: address, destination, offset, length. */
export function copyAccountCode(f: u32, sp: u32, gas: i64): i64 {
  const account = findEntry(sp);
  const left = gas - accessCost(account);
  if (left < 0) return left;
  ensureLoaded(account);
  const code = codeOf(account);
  return copyToMemory(f, sp - 32, sp - 64, sp - 96, load<u32>(code, C_BYTES), load<u32>(code, C_LENGTH), left);
}

/**
 * Raw hashes of the last 256 blocks that were requested from the host in this block, indexed by the lowest eight bits of their
 * numbers.
 */
const BLOCK_HASHES: usize = memory.data(256 * 32, 16);
/** 1 if the hash is in BLOCK_HASHES, which has zeros for a hash that the host does not have */
const HAS_BLOCK_HASH: usize = memory.data(256, 16);

/** Clears the hashes of the previous block. */
export function blockHashesReset(): void {
  memory.fill(<u32>HAS_BLOCK_HASH, 0, 256);
}

/** BLOCKHASH: available for the 256 blocks before this one. PERF: 20 gas do not pay for repeated database reads. */
export function blockHashInstruction(sp: u32): void {
  const number = load<u64>(sp);
  const current = load<u64>(ENV_NUMBER);
  if (!fits64(sp) || number >= current || current - number > 256) return zeroWord(sp);
  const place = <u32>number & 255;
  const hash = <u32>BLOCK_HASHES + (place << 5);
  if (load<u8>(<u32>HAS_BLOCK_HASH + place) == 0) {
    if (hostBlockHash(number) == 0) zeroWord(hash);
    else copyWord(hash, X_HASH);
    store<u8>(<u32>HAS_BLOCK_HASH + place, 1);
  }
  readRaw(sp, hash);
}

export function blobHashInstruction(sp: u32): void {
  const index = load<u64>(sp);
  if (!fits64(sp) || index >= <u64>load<u32>(ENV_BLOB_COUNT)) zeroWord(sp);
  else copyWord(sp, ENV_BLOB_HASHES + ((<u32>index) << 5));
}

/** LOG0 … LOG4: offset, length, topics. */
export function logInstruction(f: u32, sp: u32, topics: u32, gas: i64): i64 {
  let left = touchRange(f, sp, sp - 32, gas);
  if (left < 0) return left;
  const length = load<u64>(sp - 32);
  left -= <i64>(length << 3);
  if (left < 0) return left;
  appendLog(load<u32>(f, F_SELF), placeOf(f, sp, sp - 32), <u32>length, sp - 64, topics);
  return left;
}

/** RETURN and REVERT: notes where the output is. */
export function setOutput(f: u32, sp: u32, gas: i64): i64 {
  const left = touchRange(f, sp, sp - 32, gas);
  if (left < 0) return left;
  store<u32>(f, placeOf(f, sp, sp - 32), F_OUTPUT);
  store<u32>(f, <u32>load<u64>(sp - 32), F_OUTPUT_LENGTH);
  return left;
}

/** SELFDESTRUCT to the address at `sp`. */
export function selfDestruct(f: u32, sp: u32, gas: i64): i64 {
  const self = load<u32>(f, F_SELF);
  const beneficiary = findEntry(sp);
  let left = gas;
  if (fork >= BERLIN && warmAccount(beneficiary)) {
    left -= 2600;
    if (left < 0) return left;
  }
  ensureLoaded(beneficiary);
  const balance = self + A_BALANCE;
  const hasBalance = !isZero(balance);
  if (fork >= TANGERINE_WHISTLE && isDead(beneficiary) && (hasBalance || fork < SPURIOUS_DRAGON)) left -= 25000;
  if (left < 0) return left;
  if (fork < LONDON && !isDestroyed(self)) setRefund(refund + 24000);
  copyWord(X_VALUE, balance);
  if (tracing) hostTraceSelfDestruct(self, beneficiary);
  // EIP-6780: only a contract that this transaction created is deleted
  const goes = fork < CANCUN || isCreatedNow(self);
  if (beneficiary != self) {
    decreaseBalance(self, X_VALUE);
    increaseBalance(beneficiary, X_VALUE);
  } else {
    touch(self);
    if (goes && hasBalance) clearBalance(self);
  }
  if (goes && !isDestroyed(self)) markDestroyed(self);
  return left;
}
