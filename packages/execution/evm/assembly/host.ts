/** The functions that the engine calls in its host. The host reads and writes linear memory; see src/engine/host.ts. */

/** Fills A_EXISTS, A_NONCE, A_BALANCE, A_CODE_HASH of a new entry from the state before the block. */
@external("host", "loadAccount") export declare function hostLoadAccount(account: u32): void;
/** Fills the word at `out` with the value of the slot whose raw key is at X_HASH. */
@external("host", "loadStorage") export declare function hostLoadStorage(account: u32, out: u32): void;
/** Copies the code with the hash at `hash` through `installCode`; returns its code entry. */
@external("host", "loadCode") export declare function hostLoadCode(hash: u32): u32;
/** Whether the state before the block holds any storage of the account (EIP-7610). */
@external("host", "hasStorage") export declare function hostHasStorage(account: u32): u32;
/** Writes the hash of block `number` to X_HASH as raw bytes; returns 0 if it is unknown. */
@external("host", "blockHash") export declare function hostBlockHash(number: u64): u32;
/** A contract's code was deployed: the host keeps a copy for `changes()` and for loading it again. */
@external("host", "newCode") export declare function hostNewCode(hash: u32, bytes: u32, length: u32): void;
/** Runs a precompile; returns its gas cost, or −1 if it fails. The output is at R_OUTPUT, through `reserveOutput`. */
@external("host", "precompile") export declare function hostPrecompile(id: u32, input: u32, length: u32, gas: i64): i64;
/** Linear memory has grown: views of it are stale. */
@external("host", "memoryGrown") export declare function hostMemoryGrown(): void;
/** Linear memory cannot grow any more; does not return. */
@external("host", "outOfMemory") export declare function hostOutOfMemory(): void;
/** Called after some milliseconds of execution; the host can throw to end it. */
@external("host", "slice") export declare function hostSlice(): void;
/** Called with the gas of a step that takes longer than a slice, before it runs; the host can throw to end the execution. */
@external("host", "longStep") export declare function hostLongStep(gas: i64): void;

/** A hash or a copy of this many bytes takes about a millisecond. */
@inline const LONG_BYTES: u32 = 1 << 20;

/** Lets the host end the execution before a step over many bytes. The gas is that of KECCAK256, the slowest of these steps. */
@inline export function announceBytes(length: u32): void {
  if (length >= LONG_BYTES) hostLongStep(6 * <i64>(length >> 5));
}
/** Tracing only: before an instruction. */
@external("host", "traceStep") export declare function hostTraceStep(frame: u32, pc: u32, opcode: u32): void;
/** Tracing only: a message is about to be executed (M_*). */
@external("host", "traceEnter") export declare function hostTraceEnter(): void;
/** Tracing only: the message ended; output at R_OUTPUT. */
@external("host", "traceExit") export declare function hostTraceExit(depth: u32, halt: u32, gasLeft: i64): void;
/** Tracing only: SELFDESTRUCT moved X_VALUE. */
@external("host", "traceSelfDestruct") export declare function hostTraceSelfDestruct(self: u32, beneficiary: u32): void;
/** Tracing only: a log was emitted. */
@external("host", "traceLog") export declare function hostTraceLog(record: u32): void;
