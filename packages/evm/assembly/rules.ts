/** The rules of the block, set once by the host. */
import { fits64 } from "./word";

/** See FRONTIER … OSAKA in layout.ts. */
export let fork: u32 = 0;
/** Precompiles are 0x01 … lastPrecompile. */
let lastPrecompile: u32 = 0;
/** P256VERIFY at 0x100 (RIP-7212, EIP-7951) */
let hasP256: bool = false;
/** Analysis puts every instruction into a block of its own that reports it. */
export let tracing: bool = false;

export function setRules(newFork: u32, newLastPrecompile: u32, newHasP256: bool, newTracing: bool): void {
  fork = newFork;
  lastPrecompile = newLastPrecompile;
  hasP256 = newHasP256;
  tracing = newTracing;
}

/** Whether the word is the address of a precompile. */
@inline export function isPrecompile(address: u32): bool {
  if (!fits64(address)) return false;
  const id = load<u64>(address);
  return (id != 0 && id <= <u64>lastPrecompile) || (id == 0x100 && hasP256);
}
