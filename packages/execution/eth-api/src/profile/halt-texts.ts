import type { HaltReason } from "@rnode/evm";
import { instructionOf } from "../instructions/opcodes.ts";

/** Geth's texts for why a message ended; traces of both profiles use them. */
export const HALT_TEXTS: Readonly<Record<HaltReason, string>> = {
  revert: "execution reverted",
  "out-of-gas": "out of gas",
  "stack-underflow": "stack underflow",
  "stack-overflow": "stack limit reached 1024 (1024)",
  "invalid-jump": "invalid jump destination",
  "invalid-opcode": "invalid opcode",
  "static-state-change": "write protection",
  "return-data-out-of-bounds": "return data out of bounds",
  "call-depth": "max call depth exceeded",
  "insufficient-balance": "insufficient balance for transfer",
  "create-collision": "contract address collision",
  "code-too-large": "max code size exceeded",
  "initcode-too-large": "max initcode size exceeded",
  "invalid-code-prefix": "invalid code: must not begin with 0xef",
  "nonce-overflow": "nonce uint64 overflow",
  "precompile-failure": "precompile failed",
  "deposit-failed": "failed deposit",
};

/** Why a whole message failed, in Geth's words. */
export const haltText = (halt: HaltReason, invalidOpcode: number | undefined): string =>
  invalidOpcode === undefined ? HALT_TEXTS[halt] : `invalid opcode: ${instructionOf(invalidOpcode).name}`;
