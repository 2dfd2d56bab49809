import { EMPTY_BYTES } from "@rnode/primitives";
import { type Applied, type BlockScope, rejected } from "./scope.ts";

/** A post-exec transaction only records the refunds of the block's other transactions: it runs no code and changes no account. */
export function applyPostExec({ rules }: BlockScope): Applied {
  if (!rules.acceptsGasRefunds) return rejected("type-not-supported", { type: 0x7dn });
  return {
    kind: "included",
    poolGas: 0n,
    outcome: {
      status: 1,
      gasUsed: 0n,
      logs: [],
      output: EMPTY_BYTES,
      halt: undefined,
      createdAddress: undefined,
      depositNonce: undefined,
      l1Fee: 0n,
      effectiveTip: 0n,
    },
  };
}
