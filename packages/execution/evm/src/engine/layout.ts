/**
 * The part of the engine's memory layout that the host reads and writes: the same numbers as in assembly/layout.ts, where they are
 * explained.
 */

export const ENV_ORIGIN = 0x10000;
export const ENV_GAS_PRICE = 0x10020;
export const ENV_COINBASE = 0x10040;
export const ENV_TIMESTAMP = 0x10060;
export const ENV_NUMBER = 0x10080;
export const ENV_RANDAO = 0x100a0;
export const ENV_GAS_LIMIT = 0x100c0;
export const ENV_CHAIN_ID = 0x100e0;
export const ENV_BASE_FEE = 0x10100;
export const ENV_BLOB_BASE_FEE = 0x10120;
export const ENV_BLOB_COUNT = 0x10140;
export const ENV_BLOB_HASHES = 0x10160;
export const MAX_BLOB_HASHES = 128;

export const X_ADDRESS = 0x12000;
export const X_HASH = 0x12020;
export const X_VALUE = 0x12040;
export const X_KEY = 0x12060;

export const M_KIND = 0x12080;
export const M_STATIC = 0x12084;
export const M_GAS = 0x12088;
export const M_CALLER = 0x12090;
export const M_SELF = 0x12094;
export const M_CODE = 0x12098;
export const M_INPUT = 0x1209c;
export const M_INPUT_LENGTH = 0x120a0;
export const M_DEPTH = 0x120a4;
export const M_VALUE = 0x120c0;

export const R_HALT = 0x12100;
export const R_FAULT_OPCODE = 0x12104;
export const R_GAS = 0x12108;
export const R_OUTPUT = 0x12110;
export const R_OUTPUT_LENGTH = 0x12114;
export const R_REFUND = 0x12118;
export const R_CREATED = 0x12120;
export const R_LOGS = 0x12124;
export const R_LOGS_LENGTH = 0x12128;
export const R_FAULT_HEIGHT = 0x1212c;
export const R_REPORTED = 0x12130;
export const R_BURNED = 0x12138;
export const R_BURNED_SINCE = 0x12140;

export const F_GAS = 0;
export const F_SP = 12;
export const F_STACK = 16;
export const F_MEMORY = 20;
export const F_MEMORY_SIZE = 24;
export const F_SELF = 36;
export const F_DEPTH = 136;
export const F_CODE_ACCOUNT = 172;

export const TRACE_NOTHING = 0;
export const TRACE_MESSAGES = 1;
export const TRACE_TOUCHES = 2;
export const TRACE_STEPS = 3;

export const A_BALANCE = 32;
export const A_NONCE = 64;
export const A_CODE_HASH = 72;
export const A_EXISTS = 104;
export const A_CODE_EPOCH = 112;
export const A_GENERATION = 132;
export const A_NEXT = 136;
export const A_SLOTS = 140;
export const A_BEFORE_BALANCE = 144;
export const A_BEFORE_NONCE = 176;
export const A_BEFORE_CODE_HASH = 184;
export const A_BEFORE_EXISTS = 216;
export const A_RAW_ADDRESS = 220;
export const A_LOADED = 240;

export const S_KEY = 0;
export const S_VALUE = 32;
export const S_BEFORE = 96;
export const S_GENERATION = 140;
export const S_NEXT = 144;
export const NOT_LOADED = 0xffffffff;

export const C_LENGTH = 32;
export const C_BYTES = 36;

export const L_SIZE = 0;
export const L_TOPICS = 4;
export const L_DATA_LENGTH = 8;
export const L_ADDRESS = 12;
export const LOG_HEADER = 32;

export const HALT_STOP = 1;
export const HALT_REVERT = 2;

/** `HaltReason` by HALT_*; undefined for success. */
export const HALT_NAMES = [
  undefined, // HALT_NONE
  undefined, // HALT_STOP
  "revert",
  "out-of-gas",
  "stack-underflow",
  "stack-overflow",
  "invalid-jump",
  "invalid-opcode",
  "static-state-change",
  "return-data-out-of-bounds",
  "create-collision",
  "code-too-large",
  "initcode-too-large",
  "invalid-code-prefix",
  "precompile-failure",
  "call-depth",
  "insufficient-balance",
  "nonce-overflow",
] as const;

/** Names of KIND_*. */
export const MESSAGE_KINDS = ["call", "callcode", "delegatecall", "staticcall", "create", "create2"] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];
