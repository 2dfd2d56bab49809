/**
 * Messages: calls and creations, from the CALL and CREATE opcodes and from the host. A message either ends at once (a precompile,
 * no code, insufficient balance) or becomes a frame at M_DEPTH, which the interpreter's loop runs, so that call depth takes no
 * native stack.
 */
import {
  A_ADDRESS,
  A_BALANCE,
  A_BEFORE_EXISTS,
  A_CODE_EPOCH,
  A_CODE_HASH,
  A_EXISTS,
  A_GENERATION,
  A_NONCE,
  A_RAW_ADDRESS,
  BERLIN,
  C_BYTES,
  C_DELEGATION,
  C_JUMPS,
  C_LENGTH,
  F_CALLER,
  F_CODE,
  F_CODE_ACCOUNT,
  F_CODE_LENGTH,
  F_DEPTH,
  F_GAS,
  F_INPUT,
  F_INPUT_LENGTH,
  F_IP,
  F_JOURNAL,
  F_JUMPS,
  F_KIND,
  F_LOGS,
  F_MEMORY,
  F_MEMORY_SIZE,
  F_OUTPUT,
  F_OUTPUT_LENGTH,
  F_REFUND,
  F_RETURN_LENGTH,
  F_RETURN_OFFSET,
  F_SELF,
  F_SP,
  F_STACK,
  F_START_GAS,
  F_STATIC,
  F_VALUE,
  FRAME_SHIFT,
  FRAMES,
  HALT_BALANCE,
  HALT_CALL_DEPTH,
  HALT_CODE_PREFIX,
  HALT_CODE_TOO_LARGE,
  HALT_CREATE_COLLISION,
  HALT_NONCE,
  HALT_INITCODE_TOO_LARGE,
  HALT_NONE,
  HALT_OUT_OF_GAS,
  HALT_PRECOMPILE,
  HALT_REVERT,
  HALT_STATIC,
  HALT_STOP,
  HOMESTEAD,
  KIND_CALL,
  KIND_CALLCODE,
  KIND_CREATE,
  KIND_CREATE2,
  KIND_DELEGATECALL,
  KIND_STATICCALL,
  LONDON,
  M_CALLER,
  M_CODE,
  M_DEPTH,
  M_GAS,
  M_INPUT,
  M_INPUT_LENGTH,
  M_KIND,
  M_SALT,
  M_SELF,
  M_STATIC,
  M_TRANSFER,
  M_VALUE,
  MAX_DEPTH,
  PRAGUE,
  R_CREATED,
  R_GAS,
  R_HALT,
  SCRATCH_ADDRESS,
  SCRATCH_DIGEST,
  SCRATCH_RLP,
  SHANGHAI,
  SPURIOUS_DRAGON,
  STACKS,
  TANGERINE_WHISTLE,
} from "./layout";
import {
  accessCost,
  decreaseBalance,
  ensureLoaded,
  findAccount,
  findEntry,
  hasCode,
  increaseBalance,
  isDead,
  markCreated,
  setNonce,
  touch,
  warmAccount,
} from "./accounts";
import { codeOf, finishCode, findCode, freeTemporaryCode, reserveCode, setDeepestFrame, temporaryCode } from "./code";
import { entryOf } from "./decoder";
import { expandMemory, placeOf, rangeEnd } from "./evm-memory";
import { announceBytes, hostHasStorage, hostLongStep, hostNewCode, hostPrecompile, hostTraceEnter, hostTraceExit } from "./host";
import { blake2F } from "./blake2";
import { appendWord, J_CODE, journalPosition, revertTo } from "./journal";
import { digest } from "./keccak";
import { logsPosition, logsRevertTo } from "./logs";
import { reserveOutput, returnData, returnDataLength, setReturnData } from "./output";
import { fork, precompileAt, tracing } from "./rules";
import { sha256 } from "./sha256";
import { refund, setRefund } from "./storage";
import { copyWord, fits64, isZero, less, readRaw, setWord, writeRaw, zeroWord } from "./word";

@inline const MAX_CODE_BYTES: u32 = 24576; // EIP-170
@inline const MAX_INITCODE_BYTES: u32 = 49152; // EIP-3860
@inline const CODE_DEPOSIT_GAS: i64 = 200;
@inline const STIPEND: i64 = 2300;
/** BLAKE2 rounds that take about a millisecond. */
@inline const LONG_ROUNDS: i64 = 50_000;

/** The frame the interpreter runs. */
export let currentFrame: u32 = FRAMES;

@inline function isCreation(kind: u32): bool {
  return kind >= KIND_CREATE;
}

@inline export function frameAt(depth: u32): u32 {
  return FRAMES + (depth << FRAME_SHIFT);
}

/** The result of a message that ended without a frame; gas in R_GAS, output as the return data. */
@inline function ended(halt: u32, gasLeft: i64): u32 {
  if (tracing) hostTraceExit(load<u32>(M_DEPTH), halt, gasLeft);
  store<i64>(R_GAS, gasLeft);
  return halt;
}

/** Gas that a failed message returns. */
@inline function gasAfter(halt: u32, gasLeft: i64): i64 {
  return halt <= HALT_REVERT || halt >= HALT_CALL_DEPTH ? gasLeft : 0;
}

/** Fills the frame at M_DEPTH from M_* and makes it current. `stack` is where its stack begins. */
function startFrame(code: u32, journal: u32, stack: u32): void {
  const depth = load<u32>(M_DEPTH);
  const f = frameAt(depth);
  const gas = load<i64>(M_GAS);
  store<i64>(f, gas, F_GAS);
  store<i64>(f, gas, F_START_GAS);
  store<u32>(f, stack - 32, F_SP);
  store<u32>(f, stack, F_STACK);
  store<u32>(f, 0, F_MEMORY_SIZE);
  store<u32>(f, code, F_CODE);
  store<u32>(f, load<u32>(M_SELF), F_SELF);
  store<u32>(f, load<u32>(M_CODE), F_CODE_ACCOUNT);
  const isCreate = isCreation(load<u32>(M_KIND));
  store<u32>(f, load<u32>(M_INPUT), F_INPUT);
  store<u32>(f, isCreate ? 0 : load<u32>(M_INPUT_LENGTH), F_INPUT_LENGTH);
  store<u32>(f, 0, F_OUTPUT);
  store<u32>(f, 0, F_OUTPUT_LENGTH);
  copyWord(f + F_VALUE, M_VALUE);
  store<u32>(f, load<u32>(M_KIND), F_KIND);
  store<u32>(f, load<u32>(M_STATIC), F_STATIC);
  store<u32>(f, depth, F_DEPTH);
  store<u32>(f, journal, F_JOURNAL);
  store<u32>(f, logsPosition(), F_LOGS);
  store<i64>(f, refund, F_REFUND);
  store<u32>(f, entryOf(code), F_IP);
  store<u32>(f, load<u32>(code, C_JUMPS), F_JUMPS);
  store<u32>(f, load<u32>(code, C_LENGTH), F_CODE_LENGTH);
  currentFrame = f;
  setDeepestFrame(depth);
  setReturnData(0, 0);
}

/** Moves M_VALUE from the caller to the account executed on. */
@inline function transfer(): void {
  const to = load<u32>(M_SELF);
  decreaseBalance(load<u32>(M_CALLER), M_VALUE);
  increaseBalance(to, M_VALUE);
}

/**
 * Before EIP-161, a call without value creates its target. From EIP-161 on, it does not create a missing target, and an existing
 * empty target is deleted at the end of the transaction.
 */
@inline function touchTarget(target: u32, runsPrecompile: bool): void {
  if (isDead(target) && (fork < SPURIOUS_DRAGON || runsPrecompile || load<u32>(target, A_EXISTS) != 0)) touch(target);
}

/** Inputs of at least this length are hashed by the host (SHA-256), which can use the processor's instructions. */
let hostSha256From: u32 = u32.MAX_VALUE;

export function setHostSha256From(length: u32): void {
  hostSha256From = length;
}

/** Runs a precompile and returns its cost, or −1. The cheap ones are here, the others in the host (src/precompiles). */
function runPrecompile(id: u32, input: u32, length: u32, gas: i64): i64 {
  const words = <i64>((<u64>length + 31) >> 5);
  switch (id) {
    case 2: {
      const cost = 60 + 12 * words;
      if (cost > gas) return -1;
      if (length >= hostSha256From) return hostPrecompile(id, input, length, gas);
      announceBytes(length);
      sha256(input, length, reserveOutput(32));
      return cost;
    }
    case 4: {
      const cost = 15 + 3 * words;
      if (cost > gas) return -1;
      announceBytes(length);
      if (length != 0) memory.copy(reserveOutput(length), input, length);
      return cost;
    }
    case 9: {
      if (length != 213 || load<u8>(input, 212) > 1) return -1;
      const rounds: i64 = bswap<u32>(load<u32>(input));
      if (rounds > gas) return -1;
      if (rounds > LONG_ROUNDS) hostLongStep(rounds);
      blake2F(input, reserveOutput(64));
      return rounds;
    }
    default:
      return hostPrecompile(id, input, length, gas);
  }
}

/**
 * Starts the call in M_*; M_CODE is the account whose code runs, before delegation. The word for CALLER is at `caller`; the frame's
 * stack would begin at `stack`.
 *
 * @returns HALT_NONE if a frame was started, otherwise how the call ended
 */
export function enterCall(caller: u32, stack: u32): u32 {
  setReturnData(0, 0);
  if (tracing) hostTraceEnter();
  const gas = load<i64>(M_GAS);
  if (load<u32>(M_DEPTH) > MAX_DEPTH) return ended(HALT_CALL_DEPTH, gas);
  const kind = load<u32>(M_KIND);
  if (kind <= KIND_CALLCODE && less(load<u32>(M_CALLER) + A_BALANCE, M_VALUE)) return ended(HALT_BALANCE, gas);
  const target = load<u32>(M_CODE);
  const precompile = precompileAt(target);
  const runsPrecompile = precompile != 0;
  const journal = journalPosition();
  if (kind == KIND_CALL) {
    if (!isZero(M_VALUE)) transfer();
    else touchTarget(target, runsPrecompile);
  } else if (kind == KIND_STATICCALL) touchTarget(target, runsPrecompile);
  if (runsPrecompile) {
    const cost = runPrecompile(precompile, load<u32>(M_INPUT), load<u32>(M_INPUT_LENGTH), gas);
    if (cost < 0) {
      revertTo(journal);
      setReturnData(0, 0);
      return ended(HALT_PRECOMPILE, 0);
    }
    return ended(HALT_STOP, gas - cost);
  }
  let code = codeOf(target);
  if (fork >= PRAGUE && load<u32>(code, C_DELEGATION) != 0) {
    // EIP-7702: only one level; a delegation to a precompile runs nothing
    const delegate = delegateOf(code);
    if (precompileAt(delegate) != 0) return ended(HALT_STOP, gas);
    ensureLoaded(delegate);
    code = codeOf(delegate);
  }
  if (load<u32>(code, C_LENGTH) == 0) return ended(HALT_STOP, gas);
  startFrame(code, journal, stack);
  copyWord(currentFrame + F_CALLER, caller);
  return HALT_NONE;
}

/** The account that a delegation designator points to; it may not be loaded. */
export function delegateOf(code: u32): u32 {
  const bytes = load<u32>(code, C_BYTES) + 3;
  for (let i: u32 = 0; i < 20; i++) store<u8>(SCRATCH_RLP + i, load<u8>(bytes + 19 - i));
  store<u32>(SCRATCH_RLP, 0, 20);
  store<u64>(SCRATCH_RLP, 0, 24);
  return findEntry(SCRATCH_RLP);
}

/** Address of a creation by nonce: the last 20 bytes of keccak256(rlp([creator, nonce])), as a word at SCRATCH_DIGEST. */
function addressByNonce(creator: u32, nonce: u64): void {
  memory.copy(SCRATCH_RLP + 2, creator + A_RAW_ADDRESS, 20);
  store<u8>(SCRATCH_RLP, 0x94, 1);
  let length: u32 = 21;
  if (nonce == 0) store<u8>(SCRATCH_RLP + 22, 0x80);
  else if (nonce < 0x80) store<u8>(SCRATCH_RLP + 22, <u8>nonce);
  else {
    const bytes: u32 = (71 - <u32>clz<u64>(nonce)) >> 3;
    store<u8>(SCRATCH_RLP + 22, <u8>(0x80 + bytes));
    for (let i: u32 = 0; i < bytes; i++) store<u8>(SCRATCH_RLP + 23 + i, <u8>(nonce >> <u64>((bytes - 1 - i) << 3)));
    length += bytes;
  }
  length += 1;
  store<u8>(SCRATCH_RLP, <u8>(0xc0 + length));
  digest(SCRATCH_RLP, length + 1);
  readRaw(SCRATCH_DIGEST, SCRATCH_DIGEST);
}

/** Address of CREATE2: keccak256(0xff ‖ creator ‖ salt ‖ keccak256(initialisation code)), as a word at SCRATCH_DIGEST. */
function addressBySalt(creator: u32, input: u32, length: u32): void {
  store<u8>(SCRATCH_RLP, 0xff);
  memory.copy(SCRATCH_RLP + 1, creator + A_RAW_ADDRESS, 20);
  writeRaw(SCRATCH_RLP + 21, M_SALT);
  digest(input, length);
  memory.copy(SCRATCH_RLP + 53, SCRATCH_DIGEST, 32);
  digest(SCRATCH_RLP, 85);
  readRaw(SCRATCH_DIGEST, SCRATCH_DIGEST);
}

/**
 * Starts the creation in M_*; fills M_SELF and M_CODE. `nonce` is the creator's nonce before the creation; for a transaction
 * (`fromHost`) it has already been increased.
 */
export function enterCreate(stack: u32, fromHost: bool): u32 {
  setReturnData(0, 0);
  const creator = load<u32>(M_CALLER);
  const gas = load<i64>(M_GAS);
  let nonce = load<u64>(creator, A_NONCE);
  if (fromHost) nonce--;
  // A tracer needs the address even if nothing is created.
  const kind = load<u32>(M_KIND);
  if (kind == KIND_CREATE2) addressBySalt(creator, load<u32>(M_INPUT), load<u32>(M_INPUT_LENGTH));
  else addressByNonce(creator, nonce);
  // looked up (which reads state) only when it is needed
  const depthOk = load<u32>(M_DEPTH) <= MAX_DEPTH;
  const balanceOk = !less(creator + A_BALANCE, M_VALUE);
  if (!depthOk || !balanceOk || (!fromHost && nonce + 1 == 0)) {
    store<u32>(M_SELF, 0);
    store<u32>(M_CODE, 0);
    if (tracing) hostTraceEnter();
    return ended(!depthOk ? HALT_CALL_DEPTH : !balanceOk ? HALT_BALANCE : HALT_NONCE, gas);
  }
  const self = findAccount(SCRATCH_DIGEST);
  store<u32>(M_SELF, self);
  store<u32>(M_CODE, self);
  if (tracing) hostTraceEnter();
  if (!fromHost) setNonce(creator, nonce + 1);
  if (fork >= BERLIN) warmAccount(self);
  const journal = journalPosition();
  // EIP-684, EIP-7610
  if (load<u64>(self, A_NONCE) != 0 || hasCode(self) || hasStorage(self)) return ended(HALT_CREATE_COLLISION, 0);
  markCreated(self);
  touch(self);
  if (fork >= SPURIOUS_DRAGON) setNonce(self, 1);
  transfer();
  const code = temporaryCode(load<u32>(M_INPUT), load<u32>(M_INPUT_LENGTH));
  startFrame(code, journal, stack);
  copyWord(currentFrame + F_CALLER, creator + A_ADDRESS);
  return HALT_NONE;
}

@inline function hasStorage(account: u32): bool {
  // storage without code can only come from the state before the block
  return load<u32>(account, A_BEFORE_EXISTS) != 0 && load<u32>(account, A_GENERATION) == 0 && hostHasStorage(account) != 0;
}

/** Gives the account its code, copying the bytes. */
export function deployCode(account: u32, bytes: u32, length: u32): void {
  appendWord(J_CODE, account, account + A_CODE_HASH);
  digest(bytes, length);
  memory.copy(account + A_CODE_HASH, SCRATCH_DIGEST, 32);
  store<u32>(account, 0, A_CODE_EPOCH);
  if (length == 0) return;
  hostNewCode(SCRATCH_DIGEST, bytes, length);
  if (findCode(SCRATCH_DIGEST) == 0) {
    const code = reserveCode(SCRATCH_DIGEST, length);
    memory.copy(load<u32>(code, C_BYTES), bytes, length);
    finishCode(code);
  }
}

/** Applies the rules for the code that initialisation returned; charges the deposit from F_GAS. */
function depositCode(f: u32): u32 {
  const bytes = load<u32>(f, F_OUTPUT);
  const length = load<u32>(f, F_OUTPUT_LENGTH);
  if (fork >= SPURIOUS_DRAGON && length > MAX_CODE_BYTES) return HALT_CODE_TOO_LARGE;
  if (fork >= LONDON && length != 0 && load<u8>(bytes) == 0xef) return HALT_CODE_PREFIX; // EIP-3541
  const gas = load<i64>(f, F_GAS) - CODE_DEPOSIT_GAS * <i64>length;
  if (gas < 0) {
    // Frontier: the contract is created without code
    return fork >= HOMESTEAD ? HALT_OUT_OF_GAS : HALT_STOP;
  }
  store<i64>(f, gas, F_GAS);
  deployCode(load<u32>(f, F_SELF), bytes, length);
  return HALT_STOP;
}

/**
 * Ends the current frame: keeps or reverts its effects, and passes the result to the calling frame, which becomes current, or to
 * the host.
 *
 * @returns whether there is a frame to continue with
 */
export function endFrame(reason: u32): bool {
  const f = currentFrame;
  let halt = reason;
  const create = isCreation(load<u32>(f, F_KIND));
  if (halt == HALT_STOP && create) halt = depositCode(f);
  if (halt != HALT_STOP) {
    revertTo(load<u32>(f, F_JOURNAL));
    logsRevertTo(load<u32>(f, F_LOGS));
    setRefund(load<i64>(f, F_REFUND));
  }
  const gasLeft = gasAfter(halt, load<i64>(f, F_GAS));
  const hasOutput = halt == HALT_REVERT || halt == HALT_STOP;
  setReturnData(hasOutput ? load<u32>(f, F_OUTPUT) : 0, hasOutput ? load<u32>(f, F_OUTPUT_LENGTH) : 0);
  const depth = load<u32>(f, F_DEPTH);
  if (tracing) hostTraceExit(depth, halt, gasLeft);
  if (create) freeTemporaryCode(load<u32>(f, F_CODE));
  setDeepestFrame(<i32>depth - 1);
  if (depth == 0) {
    store<u32>(R_HALT, halt);
    store<i64>(R_GAS, gasLeft);
    store<u32>(R_CREATED, create && halt == HALT_STOP ? load<u32>(f, F_SELF) : 0);
    return false;
  }
  const caller = f - (1 << FRAME_SHIFT);
  currentFrame = caller;
  if (create) finishCreate(caller, halt, gasLeft, load<u32>(f, F_SELF));
  else finishCall(caller, halt, gasLeft);
  return true;
}

/** Pushes the result of a call onto the caller's stack, copies the output into its memory and returns the gas. */
function finishCall(f: u32, halt: u32, gasLeft: i64): void {
  store<i64>(f, load<i64>(f, F_GAS) + gasLeft, F_GAS);
  setWord(load<u32>(f, F_SP), u64(halt == HALT_STOP));
  const length = min(load<u32>(f, F_RETURN_LENGTH), returnDataLength());
  if (length != 0) memory.copy(load<u32>(f, F_MEMORY) + load<u32>(f, F_RETURN_OFFSET), returnData(), length);
}

function finishCreate(f: u32, halt: u32, gasLeft: i64, created: u32): void {
  store<i64>(f, load<i64>(f, F_GAS) + gasLeft, F_GAS);
  if (halt == HALT_STOP) {
    copyWord(load<u32>(f, F_SP), created + A_ADDRESS);
    setReturnData(0, 0);
  } else zeroWord(load<u32>(f, F_SP));
}

/** EIP-150: at most 63/64 of the gas are passed to a call. */
@inline function allButOne64th(gas: i64): i64 {
  return gas - (gas >> 6);
}

/**
 * CALL, CALLCODE, DELEGATECALL, STATICCALL. On entry the frame's F_IP (after the instruction), F_SP and F_GAS are up to date; on
 * return those of the current frame are.
 *
 * @returns HALT_NONE, or why the calling frame fails
 */
export function callOpcode(f: u32, kind: u32): u32 {
  let sp = load<u32>(f, F_SP);
  let gas = load<i64>(f, F_GAS);
  const requested = sp;
  const to = sp - 32;
  const hasValue = kind <= KIND_CALLCODE;
  const value = sp - 64;
  const inputOffset = hasValue ? sp - 96 : sp - 64;
  const inputLength = inputOffset - 32;
  const returnOffset = inputOffset - 64;
  const returnLength = inputOffset - 96;
  const movesValue = hasValue && !isZero(value);
  if (kind == KIND_CALL && movesValue && load<u32>(f, F_STATIC) != 0) return HALT_STATIC;
  const end = max(rangeEnd(inputOffset, inputLength), rangeEnd(returnOffset, returnLength));
  if (end > <u64>load<u32>(f, F_MEMORY_SIZE)) {
    gas = expandMemory(f, end, gas);
    if (gas < 0) return HALT_OUT_OF_GAS;
  }
  if (movesValue) gas -= 9000;
  // a call that cannot be paid for must not read the state
  if (gas < 0) return HALT_OUT_OF_GAS;
  const target = findEntry(to);
  gas -= accessCost(target);
  if (gas < 0) return HALT_OUT_OF_GAS;
  ensureLoaded(target);
  if (kind == KIND_CALL && isDead(target) && (movesValue || fork < SPURIOUS_DRAGON)) gas -= 25000;
  if (fork >= PRAGUE) {
    // EIP-7702: the delegate is accessed too
    const code = codeOf(target);
    if (load<u32>(code, C_DELEGATION) != 0) gas -= 100 + accessCost(delegateOf(code));
  }
  if (gas < 0) return HALT_OUT_OF_GAS;
  let passed: i64;
  const wanted = load<u64>(requested);
  if (fork >= TANGERINE_WHISTLE) {
    passed = allButOne64th(gas);
    if (fits64(requested) && wanted < <u64>passed) passed = <i64>wanted;
  } else {
    if (!fits64(requested) || wanted > <u64>gas) return HALT_OUT_OF_GAS;
    passed = <i64>wanted;
  }
  store<i64>(f, gas - passed, F_GAS);
  if (movesValue) passed += STIPEND;

  store<u32>(M_KIND, kind);
  store<u32>(M_STATIC, kind == KIND_STATICCALL ? 1 : load<u32>(f, F_STATIC));
  store<i64>(M_GAS, passed);
  const self = load<u32>(f, F_SELF);
  store<u32>(M_CALLER, self);
  store<u32>(M_SELF, kind == KIND_CALL || kind == KIND_STATICCALL ? target : self);
  store<u32>(M_CODE, target);
  store<u32>(M_INPUT, placeOf(f, inputOffset, inputLength));
  store<u32>(M_INPUT_LENGTH, <u32>load<u64>(inputLength));
  store<u32>(M_DEPTH, load<u32>(f, F_DEPTH) + 1);
  if (hasValue) copyWord(M_VALUE, value);
  else if (kind == KIND_DELEGATECALL) copyWord(M_VALUE, f + F_VALUE);
  else zeroWord(M_VALUE);
  store<u32>(f, <u32>load<u64>(returnOffset), F_RETURN_OFFSET);
  store<u32>(f, <u32>load<u64>(returnLength), F_RETURN_LENGTH);
  // the result replaces the lowest argument
  sp = returnLength;
  store<u32>(f, sp, F_SP);
  const caller = kind == KIND_DELEGATECALL ? f + F_CALLER : self + A_ADDRESS;
  const halt = enterCall(caller, sp + 32);
  if (halt != HALT_NONE) finishCall(f, halt, load<i64>(R_GAS));
  return HALT_NONE;
}

/** CREATE and CREATE2; see `callOpcode`. */
export function createOpcode(f: u32, kind: u32): u32 {
  if (load<u32>(f, F_STATIC) != 0) return HALT_STATIC;
  const sp = load<u32>(f, F_SP);
  let gas = load<i64>(f, F_GAS);
  const offset = sp - 32;
  const length = sp - 64;
  const end = rangeEnd(offset, length);
  if (end > <u64>load<u32>(f, F_MEMORY_SIZE)) {
    gas = expandMemory(f, end, gas);
    if (gas < 0) return HALT_OUT_OF_GAS;
  }
  const bytes = <u32>load<u64>(length);
  if (fork >= SHANGHAI && bytes > MAX_INITCODE_BYTES) return HALT_INITCODE_TOO_LARGE;
  const words: i64 = <i64>((<u64>bytes + 31) >> 5);
  if (fork >= SHANGHAI) gas -= 2 * words;
  if (kind == KIND_CREATE2) gas -= 6 * words;
  if (gas < 0) return HALT_OUT_OF_GAS;
  const passed = fork >= TANGERINE_WHISTLE ? allButOne64th(gas) : gas;
  store<i64>(f, gas - passed, F_GAS);
  store<u32>(M_KIND, kind);
  store<u32>(M_STATIC, 0);
  store<i64>(M_GAS, passed);
  store<u32>(M_CALLER, load<u32>(f, F_SELF));
  store<u32>(M_INPUT, placeOf(f, offset, length));
  store<u32>(M_INPUT_LENGTH, bytes);
  store<u32>(M_DEPTH, load<u32>(f, F_DEPTH) + 1);
  copyWord(M_VALUE, sp);
  if (kind == KIND_CREATE2) copyWord(M_SALT, sp - 96);
  const result = kind == KIND_CREATE2 ? sp - 96 : sp - 64;
  store<u32>(f, result, F_SP);
  const halt = enterCreate(result + 32, false);
  if (halt != HALT_NONE) finishCreate(f, halt, load<i64>(R_GAS), load<u32>(M_SELF));
  return HALT_NONE;
}
