import { bytesToBigint } from "@rnode/primitives";
import { type BlockRules, type EvmFork, isEvmForkAtLeast, isOpForkAtLeast } from "@rnode/protocol";

const P256_ADDRESS = 0x100n;
/** how many there are from a fork on, newest first */
const LAST: readonly (readonly [EvmFork, bigint])[] = [
  ["prague", 0x11n],
  ["cancun", 0x0an],
  ["istanbul", 9n],
  ["byzantium", 8n],
];

/** Whether a precompile is at the address in the block. */
export function precompileTest({ evm, op }: Pick<BlockRules, "evm" | "op">): (address: Uint8Array) => boolean {
  const last = LAST.find(([fork]) => isEvmForkAtLeast(evm, fork))?.[1] ?? 4n;
  const hasP256 = isEvmForkAtLeast(evm, "osaka") || (op !== undefined && isOpForkAtLeast(op, "fjord"));
  return (address) => {
    const number = bytesToBigint(address);
    return (number >= 1n && number <= last) || (hasP256 && number === P256_ADDRESS);
  };
}
