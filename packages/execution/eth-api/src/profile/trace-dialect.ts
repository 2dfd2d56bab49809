import type { FaultyStep, HaltReason } from "@rnode/evm";
import { instructionOf, OP } from "../instructions/opcodes.ts";
import { HALT_TEXTS } from "./halt-texts.ts";

/** The instruction at which a message ended. */
type LastStep = FaultyStep | undefined;

/** How the two profiles differ in what traces show. */
export interface TraceDialect {
  /** why a frame failed, for Geth's tracers */
  readonly frameError: (halt: HaltReason, last: LastStep) => string;
  /** why a frame failed, for flat traces, in Parity's words */
  readonly parityError: (halt: HaltReason) => string;
  /** why an instruction failed, for the struct logger; undefined: not shown */
  readonly stepError: (halt: HaltReason, last: LastStep) => string | undefined;
  readonly structLog: {
    /** words of memory and storage have the prefix `0x` */
    readonly hasPrefix: boolean;
    /** show `refund` and `returnData` even if they are zero or empty */
    readonly showsEmpty: boolean;
    /** the cost shown for a failed instruction: its full cost as far as it is known, or only the constant part */
    readonly failedCost: "wanted" | "constant";
    /** the cost of a creation includes the gas it forwards, as the cost of a call does in both profiles */
    readonly creationCostHasForwarded: boolean;
  };
  readonly prestate: {
    /** fee vaults shown for every signed transaction */
    readonly vaults: readonly ("l1FeeVault" | "baseFeeVault" | "operatorFeeVault")[];
    /** they, and the beneficiary, are shown for deposits as well */
    readonly hasVaultsOfDeposits: boolean;
    /** contains accounts that were empty before the transaction; otherwise only with `includeEmpty` */
    readonly hasEmpty: boolean;
    readonly hasCodeHash: boolean;
    /** with `diffMode`, code that was removed is shown as `0x` */
    readonly showsRemovedCode: boolean;
  };
  /** whether an instruction that failed for this reason still counts as touching the accounts and slots it names */
  readonly failedTouch: (halt: HaltReason, opcode: number) => boolean;
  /** `4byteTracer` counts calls to precompiles */
  readonly countsPrecompiles: boolean;
  /** `flatCallTracer` gives the result of `trace_transaction`, with the transaction's gas limit */
  readonly flatIsParity: boolean;
  /** `callTracer` in `muxTracer` shows the gas with which the engine began, without the intrinsic gas */
  readonly partsHaveRawGas: boolean;
}

const PUSH_LIMIT = 1024;

function gethError(halt: HaltReason, last: LastStep): string {
  if (last === undefined) return HALT_TEXTS[halt];
  const { name, pops, pushes } = instructionOf(last.opcode);
  switch (halt) {
    case "invalid-opcode":
      return `invalid opcode: ${name}`;
    case "stack-underflow":
      return `stack underflow (${last.stackSize} <=> ${pops})`;
    case "stack-overflow":
      return `stack limit reached ${last.stackSize} (${PUSH_LIMIT + pops - pushes})`;
    default:
      return HALT_TEXTS[halt];
  }
}

/** Geth's `convertParityErrors`. */
function gethParityError(halt: HaltReason): string {
  switch (halt) {
    case "out-of-gas":
    case "code-too-large":
      return "Out of gas";
    case "invalid-jump":
      return "Bad jump destination";
    case "revert":
      return "Reverted";
    case "return-data-out-of-bounds":
      return "Out of bounds";
    case "stack-overflow":
      return "Out of stack";
    case "stack-underflow":
      return "Stack underflow";
    case "invalid-opcode":
      return "Bad instruction";
    case "precompile-failure":
      return "Built-in failed";
    default:
      return HALT_TEXTS[halt];
  }
}

export const GETH_TRACES: TraceDialect = {
  frameError: gethError,
  parityError: gethParityError,
  stepError: (halt, last) =>
    halt === "out-of-gas" || halt === "stack-underflow" || halt === "stack-overflow" ? gethError(halt, last) : undefined,
  structLog: { hasPrefix: false, showsEmpty: false, failedCost: "wanted", creationCostHasForwarded: false },
  prestate: { vaults: ["baseFeeVault"], hasVaultsOfDeposits: true, hasEmpty: false, hasCodeHash: true, showsRemovedCode: true },
  // Geth calls its tracer only for instructions that the stack and the gas allow
  failedTouch: (halt) => halt !== "out-of-gas" && halt !== "stack-underflow" && halt !== "stack-overflow",
  countsPrecompiles: false,
  flatIsParity: false,
  partsHaveRawGas: false,
};

/** The results of revm that have no other text, by revm's names for them. */
const REVM_NAMES: Readonly<Record<HaltReason, string>> = {
  revert: "Revert",
  "out-of-gas": "OutOfGas",
  "stack-underflow": "StackUnderflow",
  "stack-overflow": "StackOverflow",
  "invalid-jump": "InvalidJump",
  "invalid-opcode": "OpcodeNotFound",
  "static-state-change": "StateChangeDuringStaticCall",
  "return-data-out-of-bounds": "OutOfOffset",
  "call-depth": "CallTooDeep",
  "insufficient-balance": "OutOfFunds",
  "create-collision": "CreateCollision",
  "code-too-large": "CreateContractSizeLimit",
  "initcode-too-large": "CreateInitCodeSizeLimit",
  "invalid-code-prefix": "CreateContractStartingWithEF",
  "nonce-overflow": "NonceOverflow",
  "precompile-failure": "PrecompileError",
  "deposit-failed": "FailedDeposit",
};

function rethError(halt: HaltReason, last: LastStep): string {
  switch (halt) {
    case "revert":
      return "execution reverted";
    case "out-of-gas":
      return "out of gas";
    case "insufficient-balance":
      return "insufficient balance for transfer";
    case "invalid-opcode":
      return last?.opcode === OP.invalid ? "invalid opcode: INVALID" : "invalid opcode";
    case "invalid-jump":
      return "invalid jump destination";
    case "precompile-failure":
      return "precompiled failed";
    default:
      return REVM_NAMES[halt];
  }
}

function rethParityError(halt: HaltReason): string {
  switch (halt) {
    case "revert":
      return "Reverted";
    case "out-of-gas":
      return "Out of gas";
    case "insufficient-balance":
      return "Insufficient balance for transfer";
    case "invalid-opcode":
      return "Bad instruction";
    case "stack-overflow":
      return "Out of stack";
    case "invalid-jump":
      return "Bad jump destination";
    case "precompile-failure":
      return "Built-in failed";
    default:
      return REVM_NAMES[halt];
  }
}

export const RETH_TRACES: TraceDialect = {
  frameError: rethError,
  parityError: rethParityError,
  stepError: (halt, last) =>
    halt === "revert"
      ? undefined
      : `Some(${last?.opcode === OP.invalid && halt === "invalid-opcode" ? "InvalidFEOpcode" : REVM_NAMES[halt]})`,
  structLog: { hasPrefix: true, showsEmpty: true, failedCost: "constant", creationCostHasForwarded: true },
  prestate: {
    vaults: ["l1FeeVault", "baseFeeVault", "operatorFeeVault"],
    hasVaultsOfDeposits: false,
    hasEmpty: true,
    hasCodeHash: false,
    showsRemovedCode: false,
  },
  failedTouch(halt, opcode) {
    if (halt === "insufficient-balance" || halt === "call-depth" || halt === "nonce-overflow") {
      return opcode !== OP.create && opcode !== OP.create2;
    }
    return halt === "create-collision" || halt === "precompile-failure";
  },
  countsPrecompiles: true,
  flatIsParity: true,
  partsHaveRawGas: true,
};
