/**
 * The functions that the host calls. Arguments that do not fit into numbers are passed through EXCHANGE and ENVIRONMENT
 * (layout.ts).
 */
import {
  A_ADDRESS,
  A_BALANCE,
  A_EXISTS,
  A_GENERATION,
  A_NONCE,
  C_DELEGATION,
  HALT_NONE,
  KIND_CALL,
  KIND_CREATE,
  M_CALLER,
  M_CODE,
  M_DEPTH,
  M_GAS,
  M_INPUT,
  M_INPUT_LENGTH,
  M_KIND,
  M_SELF,
  M_STATIC,
  M_VALUE,
  PRAGUE,
  R_BURNED_SINCE,
  R_CREATED,
  R_GAS,
  R_HALT,
  R_LOGS,
  R_LOGS_LENGTH,
  R_REFUND,
  S_VALUE,
  SCRATCH_WORD_C,
  STACKS,
  X_ADDRESS,
  X_KEY,
  X_VALUE,
} from "./layout";
import {
  accountsReset,
  decreaseBalance,
  ensureLoaded,
  findEntry,
  increaseBalance,
  nextTransactionEpoch,
  settleTransaction,
  setNonce as changeNonce,
  touch,
  warmAccount as accessAccount,
} from "./accounts";
import { delegateOf, deployCode, enterCall, enterCreate } from "./calls";
import { codeCacheReset, codeOf, setDeepestFrame, trimCodeCache } from "./code";
import { journalPosition, journalReset, revertTo as undoTo } from "./journal";
import { blockHashesReset } from "./instructions";
import { logsPointer, logsPosition, logsReset, logsRevertTo } from "./logs";
import { buildOpcodeTable } from "./opcodes";
import { fork, setRules, stepping, touching } from "./rules";
import { countBurned, runToEnd } from "./interpreter";
import { findSlot, refund, setRefund, storageReset, transientReset, warmSlotByKey } from "./storage";
import { copyWord, zeroWord } from "./word";

export { setHashSeed } from "./hash-index";
export { heapTop } from "./heap";
export { firstAccount } from "./accounts";
export { movePrecompile } from "./rules";
export { reserveInput, reserveOutput } from "./output";
export { setHostSha256From } from "./calls";
export { codeCacheBytes, codeOf, finishCode, reserveCode, setCodeCacheBound } from "./code";

// parts that unit tests check separately
export { keccak256 } from "./keccak";
export { add, subtract, less, lessSigned, shiftLeft, shiftRight, shiftRightSigned, signExtend, byteAt, leadingZeros } from "./word";
export { multiply, power } from "./multiply";
export { sha256 } from "./sha256";
export { blake2F } from "./blake2";
export { divide, divideSigned, remainder, remainderSigned, addModulo, multiplyModulo } from "./divide";

let activeRules: u32 = 0xffffffff;

/** Begins a block: discards all accounts and storage. `trace` is one of TRACE_…. Code is kept unless the rules have changed. */
export function beginBlock(newFork: u32, lastPrecompile: u32, hasP256: bool, trace: u32): void {
  setRules(newFork, lastPrecompile, hasP256, trace);
  setDeepestFrame(-1);
  const rules = newFork | (u32(stepping) << 8) | (u32(touching) << 9);
  if (rules != activeRules) {
    activeRules = rules;
    buildOpcodeTable(newFork);
    codeCacheReset();
  }
  trimCodeCache();
  accountsReset();
  storageReset();
  journalReset();
  logsReset();
  blockHashesReset();
  setRefund(0);
}

/** For tracing: the current value of the refund counter. */
export function refundCounter(): i64 {
  return refund;
}

/** Called first in a transaction. */
export function beginTransaction(): void {
  nextTransactionEpoch();
  transientReset();
  journalReset();
  logsReset();
  setRefund(0);
}

/** Ends a transaction and keeps its effects; deletes self-destructed and empty accounts. */
export function endTransaction(): void {
  settleTransaction();
  trimCodeCache();
}

/** Position to return to with `revertTo`. */
export function checkpoint(): u32 {
  return journalPosition();
}

/** Undoes state changes since the checkpoint (including logs and refunds, which only `execute` produces). */
export function revertTo(position: u32): void {
  undoTo(position);
  logsRevertTo(0);
  setRefund(0);
}

/** Entry of the account with the raw address at X_ADDRESS, loaded. */
export function account(): u32 {
  const entry = unloadedAccount();
  ensureLoaded(entry);
  return entry;
}

/** The same without reading the account's state, to mark it as warm. */
export function unloadedAccount(): u32 {
  zeroWord(SCRATCH_WORD_C);
  for (let i: u32 = 0; i < 20; i++) store<u8>(SCRATCH_WORD_C + i, load<u8>(X_ADDRESS + 19 - i));
  return findEntry(SCRATCH_WORD_C);
}

/** Adds X_VALUE. */
export function addBalance(entry: u32): void {
  increaseBalance(entry, X_VALUE);
}

/** Subtracts X_VALUE; the caller has checked that the balance is sufficient. */
export function subtractBalance(entry: u32): void {
  decreaseBalance(entry, X_VALUE);
}

export function setNonce(entry: u32, nonce: u64): void {
  changeNonce(entry, nonce);
}

export function warmAccount(entry: u32): void {
  accessAccount(entry);
}

/** Marks the slot with the key at X_KEY as accessed. */
export function warmSlot(entry: u32): void {
  warmSlotByKey(entry, X_KEY);
}

/** Storage entry of the slot with the key at X_KEY. */
export function slot(entry: u32): u32 {
  return findSlot(entry, X_KEY);
}

/** Sets code inside a transaction (EIP-7702), so that it can be undone. */
export function setCode(entry: u32, bytes: u32, length: u32): void {
  touch(entry);
  deployCode(entry, bytes, length);
}

// ---- overrides between transactions, not journalled

export function overrideAccount(entry: u32): void {
  store<u32>(entry, 1, A_EXISTS);
}

export function overrideBalance(entry: u32): void {
  store<u32>(entry, 1, A_EXISTS);
  copyWord(entry + A_BALANCE, X_VALUE);
}

export function overrideNonce(entry: u32, nonce: u64): void {
  store<u32>(entry, 1, A_EXISTS);
  store<u64>(entry, nonce, A_NONCE);
}

/** Sets the slot with the key at X_KEY to X_VALUE. */
export function overrideStorage(entry: u32): void {
  store<u32>(entry, 1, A_EXISTS);
  copyWord(findSlot(entry, X_KEY) + S_VALUE, X_VALUE);
}

export function clearStorage(entry: u32): void {
  store<u32>(entry, load<u32>(entry, A_GENERATION) + 1, A_GENERATION);
}

/** The account that this one's EIP-7702 delegation points to, possibly not loaded; 0: no delegation. */
export function delegate(entry: u32): u32 {
  const code = codeOf(entry);
  return load<u32>(code, C_DELEGATION) != 0 ? delegateOf(code) : 0;
}

/** Adds gas that a transaction burns before its message runs, and the gas of a last slice that was aborted. */
export function addBurned(gas: i64): void {
  countBurned(gas + load<i64>(R_BURNED_SINCE));
}

/**
 * Executes a message from the host: `to` 0 creates a contract. Value at X_VALUE, data at `input`. The result is in R_*; the
 * sender's nonce has already been increased. `sender` 0 means a system call without value: the caller is the word at X_KEY,
 * without an account.
 */
export function execute(sender: u32, to: u32, input: u32, length: u32, gas: i64): void {
  addBurned(0);
  store<u32>(M_STATIC, 0);
  store<i64>(M_GAS, gas);
  store<u32>(M_CALLER, sender != 0 ? sender : to);
  store<u32>(M_INPUT, input);
  store<u32>(M_INPUT_LENGTH, length);
  store<u32>(M_DEPTH, 0);
  store<u32>(R_CREATED, 0);
  copyWord(M_VALUE, X_VALUE);
  const stack = STACKS + 32;
  let halt: u32;
  if (to != 0) {
    store<u32>(M_KIND, KIND_CALL);
    store<u32>(M_SELF, to);
    store<u32>(M_CODE, to);
    if (fork >= PRAGUE) {
      const delegated = delegate(to);
      if (delegated != 0) accessAccount(delegated);
    }
    halt = enterCall(sender != 0 ? sender + A_ADDRESS : X_KEY, stack);
  } else {
    store<u32>(M_KIND, KIND_CREATE);
    halt = enterCreate(stack, true);
  }
  if (halt == HALT_NONE) runToEnd();
  else {
    store<u32>(R_HALT, halt);
    countBurned(gas - load<i64>(R_GAS));
  }
  store<i64>(R_REFUND, refund);
  store<u32>(R_LOGS, logsPointer());
  store<u32>(R_LOGS_LENGTH, logsPosition());
}
