/**
 * The map of the engine's linear memory and the layouts of everything in it. `src/engine/layout.ts` repeats what the host
 * reads and writes; a unit test compares the two files.
 *
 * A "word" is a 256-bit EVM number: 32 bytes, four u64 limbs, the least significant first. "Raw" bytes are big-endian, as on
 * the wire. An address as a word has its upper 96 bits zero.
 *
 *   0x00000000  never used: 0 is "no pointer"
 *   0x00000400  static data of the compiler (constants)
 *   0x00010000  ENVIRONMENT: what the host sets for each block and transaction
 *   0x00012000  EXCHANGE: arguments and results of calls between host and engine
 *   0x00013000  SCRATCH: intermediate results, not preserved by functions that use the same part
 *   0x00020000  OP_TABLE: 256 opcodes of the active rules
 *   0x00100000  FRAMES: one for each call depth
 *   0x00160000  KECCAK_CACHE: digests of 64-byte inputs (keccak.ts)
 *   0x00200000  STACKS: one contiguous stack of words, frames on top of each other
 *   0x02300000  HEAP: blocks of power-of-two size (heap.ts): tables, code, logs, journal, EVM memories
 */

// ---- environment: words unless stated
@inline export const ENV_ORIGIN: u32 = 0x10000;
@inline export const ENV_GAS_PRICE: u32 = 0x10020;
@inline export const ENV_COINBASE: u32 = 0x10040;
@inline export const ENV_TIMESTAMP: u32 = 0x10060;
@inline export const ENV_NUMBER: u32 = 0x10080;
/** prevRandao, or the difficulty before the merge */
@inline export const ENV_RANDAO: u32 = 0x100a0;
@inline export const ENV_GAS_LIMIT: u32 = 0x100c0;
@inline export const ENV_CHAIN_ID: u32 = 0x100e0;
@inline export const ENV_BASE_FEE: u32 = 0x10100;
@inline export const ENV_BLOB_BASE_FEE: u32 = 0x10120;
/** u32 */
@inline export const ENV_BLOB_COUNT: u32 = 0x10140;
/** at most MAX_BLOB_HASHES words */
@inline export const ENV_BLOB_HASHES: u32 = 0x10160;
@inline export const MAX_BLOB_HASHES: u32 = 128;

// ---- exchange
/** 20 raw bytes */
@inline export const X_ADDRESS: u32 = 0x12000;
/** 32 raw bytes: a storage key, a block hash */
@inline export const X_HASH: u32 = 0x12020;
/** word: value of a message, amount, storage value */
@inline export const X_VALUE: u32 = 0x12040;
/** word: storage key */
@inline export const X_KEY: u32 = 0x12060;

/** The message that starts a frame: what `enterCall` and `enterCreate` read, and a tracer sees. */
@inline export const M_KIND: u32 = 0x12080; // u32, KIND_*
@inline export const M_STATIC: u32 = 0x12084; // u32
@inline export const M_GAS: u32 = 0x12088; // i64
@inline export const M_CALLER: u32 = 0x12090; // account whose address is CALLER
@inline export const M_SELF: u32 = 0x12094; // account that is executed on: its storage and balance
@inline export const M_CODE: u32 = 0x12098; // account the code comes from
@inline export const M_INPUT: u32 = 0x1209c; // pointer to call data or initialisation code
@inline export const M_INPUT_LENGTH: u32 = 0x120a0;
@inline export const M_DEPTH: u32 = 0x120a4; // depth of the frame to start
@inline export const M_VALUE: u32 = 0x120c0; // word: CALLVALUE
@inline export const M_TRANSFER: u32 = 0x120a8; // u32: the value moves (CALL, CREATE)
@inline export const M_SALT: u32 = 0x120e0; // word: CREATE2

/** The result of a message, and the return data of the last call. */
@inline export const R_HALT: u32 = 0x12100; // u32, HALT_*
@inline export const R_FAULT_OPCODE: u32 = 0x12104; // u32: the opcode, if R_HALT is HALT_INVALID_OPCODE or HALT_STACK_…
@inline export const R_GAS: u32 = 0x12108; // i64: gas left
@inline export const R_OUTPUT: u32 = 0x12110; // pointer
@inline export const R_OUTPUT_LENGTH: u32 = 0x12114;
@inline export const R_REFUND: u32 = 0x12118; // i64
@inline export const R_CREATED: u32 = 0x12120; // account, 0: none
@inline export const R_LOGS: u32 = 0x12124; // pointer to the log records
@inline export const R_LOGS_LENGTH: u32 = 0x12128; // bytes
@inline export const R_FAULT_HEIGHT: u32 = 0x1212c; // u32: words on the stack before that opcode
@inline export const R_REPORTED: u32 = 0x12130; // u32, TRACE_TOUCHES only: the last instruction was reported
/** Gas burned by all executions, including aborted ones. Gas that a failing message forfeits is not burned. */
@inline export const R_BURNED: u32 = 0x12138; // i64: up to the slice that runs
@inline export const R_BURNED_SINCE: u32 = 0x12140; // i64: in that slice, up to the last instruction that was reported

// ---- scratch
@inline export const SCRATCH_KECCAK: u32 = 0x13000; // 200 bytes of state
@inline export const SCRATCH_KECCAK_2: u32 = 0x13400; // the other buffer of the permutation
@inline export const SCRATCH_DIGEST: u32 = 0x13100; // 32 bytes
@inline export const SCRATCH_RLP: u32 = 0x13140; // 128 bytes: preimage of a new address
@inline export const SCRATCH_DIVIDEND: u32 = 0x13200; // 80 bytes
@inline export const SCRATCH_DIVISOR: u32 = 0x13260; // 32 bytes
@inline export const SCRATCH_QUOTIENT: u32 = 0x132a0; // 64 bytes
@inline export const SCRATCH_PRODUCT: u32 = 0x13300; // 64 bytes
@inline export const SCRATCH_WORD_A: u32 = 0x13340;
@inline export const SCRATCH_WORD_B: u32 = 0x13360;
@inline export const SCRATCH_WORD_C: u32 = 0x13380;
@inline export const SCRATCH_ADDRESS: u32 = 0x133a0; // word

@inline export const OP_TABLE: u32 = 0x20000;
@inline export const FRAMES: u32 = 0x100000;
@inline export const FRAME_SHIFT: u32 = 8;
@inline export const KECCAK_CACHE: u32 = 0x160000;
@inline export const STACKS: u32 = 0x200000;
@inline export const HEAP: u32 = 0x2300000;

@inline export const MAX_DEPTH: u32 = 1024;
@inline export const STACK_LIMIT: u32 = 1024;

// ---- frame: 256 bytes
@inline export const F_GAS: u32 = 0; // i64
@inline export const F_IP: u32 = 8; // next instruction
@inline export const F_SP: u32 = 12; // top word of the stack
@inline export const F_STACK: u32 = 16; // lowest word of the stack
@inline export const F_MEMORY: u32 = 20; // EVM memory: pointer, size in use (multiple of 32), bytes reserved
@inline export const F_MEMORY_SIZE: u32 = 24;
@inline export const F_MEMORY_CAPACITY: u32 = 28;
@inline export const F_CODE: u32 = 32; // code entry
@inline export const F_SELF: u32 = 36; // account executed on
@inline export const F_INPUT: u32 = 40;
@inline export const F_INPUT_LENGTH: u32 = 44;
@inline export const F_OUTPUT: u32 = 48; // of RETURN and REVERT, in the frame's memory
@inline export const F_OUTPUT_LENGTH: u32 = 52;
@inline export const F_RETURN_OFFSET: u32 = 56; // where the caller wants the output, in its memory
@inline export const F_RETURN_LENGTH: u32 = 60;
@inline export const F_CALLER: u32 = 64; // word
@inline export const F_VALUE: u32 = 96; // word
@inline export const F_KIND: u32 = 128;
@inline export const F_STATIC: u32 = 132;
@inline export const F_DEPTH: u32 = 136;
@inline export const F_JOURNAL: u32 = 140; // checkpoints, to return to when the frame fails
@inline export const F_LOGS: u32 = 144;
@inline export const F_REFUND: u32 = 152; // i64
@inline export const F_JUMPS: u32 = 164; // of the code, as C_JUMPS
@inline export const F_CODE_LENGTH: u32 = 168;
@inline export const F_CODE_ACCOUNT: u32 = 172; // where the code came from
@inline export const F_START_GAS: u32 = 176; // i64

@inline export const KIND_CALL: u32 = 0;
@inline export const KIND_CALLCODE: u32 = 1;
@inline export const KIND_DELEGATECALL: u32 = 2;
@inline export const KIND_STATICCALL: u32 = 3;
@inline export const KIND_CREATE: u32 = 4;
@inline export const KIND_CREATE2: u32 = 5;

// ---- instructions and messages reported to the host's tracer
@inline export const TRACE_NOTHING: u32 = 0;
@inline export const TRACE_MESSAGES: u32 = 1; // messages, logs and destructions
@inline export const TRACE_TOUCHES: u32 = 2; // … and instructions that name accounts or slots
@inline export const TRACE_STEPS: u32 = 3; // … and every instruction

// ---- why a frame ended; src/engine/layout.ts gives them names
@inline export const HALT_NONE: u32 = 0; // still running
@inline export const HALT_STOP: u32 = 1; // success: STOP, RETURN, SELFDESTRUCT
@inline export const HALT_REVERT: u32 = 2;
/** from here on: all gas of the frame is gone */
@inline export const HALT_OUT_OF_GAS: u32 = 3;
@inline export const HALT_STACK_UNDERFLOW: u32 = 4;
@inline export const HALT_STACK_OVERFLOW: u32 = 5;
@inline export const HALT_INVALID_JUMP: u32 = 6;
@inline export const HALT_INVALID_OPCODE: u32 = 7;
@inline export const HALT_STATIC: u32 = 8;
@inline export const HALT_RETURN_DATA: u32 = 9;
@inline export const HALT_CREATE_COLLISION: u32 = 10;
@inline export const HALT_CODE_TOO_LARGE: u32 = 11;
@inline export const HALT_INITCODE_TOO_LARGE: u32 = 12;
@inline export const HALT_CODE_PREFIX: u32 = 13;
@inline export const HALT_PRECOMPILE: u32 = 14;
/** from here on: nothing was executed, the gas comes back */
@inline export const HALT_CALL_DEPTH: u32 = 15;
@inline export const HALT_BALANCE: u32 = 16;
@inline export const HALT_NONCE: u32 = 17;

// ---- account entry: 256 bytes, at a fixed place while the block lasts
@inline export const A_ADDRESS: u32 = 0; // word
@inline export const A_BALANCE: u32 = 32; // word
@inline export const A_NONCE: u32 = 64; // u64
@inline export const A_CODE_HASH: u32 = 72; // 32 raw bytes
@inline export const A_EXISTS: u32 = 104; // u32
@inline export const A_CODE: u32 = 108; // code entry, if A_CODE_EPOCH is the code cache's epoch
@inline export const A_CODE_EPOCH: u32 = 112;
@inline export const A_WARM: u32 = 116; // transaction number in which it is warm (EIP-2929)
@inline export const A_TOUCHED: u32 = 120; // … touched (EIP-161)
@inline export const A_CREATED: u32 = 124; // … created as a contract (EIP-6780)
@inline export const A_DESTROYED: u32 = 128; // … self-destructed
@inline export const A_GENERATION: u32 = 132; // how often its storage was forgotten; 0: the reader's storage shows
@inline export const A_NEXT: u32 = 136; // next account of the block
@inline export const A_SLOTS: u32 = 140; // first of its storage entries
@inline export const A_BEFORE_BALANCE: u32 = 144; // before the block
@inline export const A_BEFORE_NONCE: u32 = 176;
@inline export const A_BEFORE_CODE_HASH: u32 = 184;
@inline export const A_BEFORE_EXISTS: u32 = 216;
@inline export const A_RAW_ADDRESS: u32 = 220; // 20 raw bytes
@inline export const A_LOADED: u32 = 240; // u32; 0: only marked as warm so far, nothing but the address is right
@inline export const ACCOUNT_SIZE: u32 = 256;

// ---- storage entry (persistent and transient): 160 bytes
@inline export const S_KEY: u32 = 0; // word
@inline export const S_VALUE: u32 = 32; // word
@inline export const S_ORIGINAL: u32 = 64; // word: before the transaction (EIP-2200), if S_EPOCH is the transaction's number
@inline export const S_BEFORE: u32 = 96; // word: before the block
@inline export const S_ACCOUNT: u32 = 128;
@inline export const S_EPOCH: u32 = 132;
@inline export const S_WARM: u32 = 136; // transaction number in which it is warm
@inline export const S_GENERATION: u32 = 140; // the account's when the value was last right; NOT_LOADED: never
@inline export const S_NEXT: u32 = 144; // next entry of the same account
@inline export const SLOT_SIZE: u32 = 160;
@inline export const NOT_LOADED: u32 = 0xffffffff;

// ---- code entry: 96 bytes, then the bytes
@inline export const C_HASH: u32 = 0; // 32 raw bytes
@inline export const C_LENGTH: u32 = 32;
@inline export const C_BYTES: u32 = 36; // pointer
@inline export const C_ENTRY: u32 = 40; // first block of the decoded code, 0: not decoded yet
@inline export const C_JUMPS: u32 = 44; // map of jump destinations (jump-map.ts), 0: none yet
@inline export const C_TABLES: u32 = 48; // next free byte for its tables
@inline export const C_DELEGATION: u32 = 52; // 1: an EIP-7702 designator, the address at C_BYTES + 3
@inline export const C_IN_USE: u32 = 56; // mark of a sweep
@inline export const C_NEXT: u32 = 60; // list of all cached codes
@inline export const C_TEMPORARY: u32 = 64; // 1: initialisation code, freed with its frame
@inline export const C_CHUNKS: u32 = 68; // newest of the chunks with decoded instructions (decoder.ts) or tables: u32 next one, u32 size
@inline export const C_FREE: u32 = 72; // next free byte of it
@inline export const C_FREE_END: u32 = 76;
@inline export const C_TABLES_END: u32 = 80;
@inline export const CODE_HEADER: u32 = 96;
@inline export const CHUNK_HEADER: u32 = 16;

// ---- log record: header, then topics (32 raw bytes each), then data; padded to 8
@inline export const L_SIZE: u32 = 0; // of the whole record
@inline export const L_TOPICS: u32 = 4;
@inline export const L_DATA_LENGTH: u32 = 8;
@inline export const L_ADDRESS: u32 = 12; // 20 raw bytes
@inline export const LOG_HEADER: u32 = 32;

// ---- forks, in order
@inline export const FRONTIER: u32 = 0;
@inline export const HOMESTEAD: u32 = 1;
@inline export const TANGERINE_WHISTLE: u32 = 2;
@inline export const SPURIOUS_DRAGON: u32 = 3;
@inline export const BYZANTIUM: u32 = 4;
@inline export const CONSTANTINOPLE: u32 = 5;
@inline export const PETERSBURG: u32 = 6;
@inline export const ISTANBUL: u32 = 7;
@inline export const BERLIN: u32 = 8;
@inline export const LONDON: u32 = 9;
@inline export const PARIS: u32 = 10;
@inline export const SHANGHAI: u32 = 11;
@inline export const CANCUN: u32 = 12;
@inline export const PRAGUE: u32 = 13;
@inline export const OSAKA: u32 = 14;
