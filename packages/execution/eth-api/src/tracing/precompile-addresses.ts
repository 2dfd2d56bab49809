import { bytesToBigint } from "@rnode/primitives";
import type { BlockRules } from "@rnode/protocol";

const P256_ADDRESS = 0x100n;

/** Tells whether an address is that of a precompile under the block's rules. */
export function precompileTest(rules: BlockRules): (address: Uint8Array) => boolean {
  const last = BigInt(rules.lastPrecompile);
  return (address) => {
    const number = bytesToBigint(address);
    return (number >= 1n && number <= last) || (rules.hasP256Precompile && number === P256_ADDRESS);
  };
}
