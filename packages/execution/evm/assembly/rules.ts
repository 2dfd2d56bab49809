/** The rules of the block, set once by the host. */
import { A_ADDRESS, TRACE_NOTHING, TRACE_STEPS, TRACE_TOUCHES } from "./layout";
import { fits64 } from "./word";

/** See FRONTIER … OSAKA in layout.ts. */
export let fork: u32 = 0;
/** Precompiles are 0x01 … lastPrecompile. */
let lastPrecompile: u32 = 0;
/** P256VERIFY at 0x100 (RIP-7212, EIP-7951) */
let hasP256: bool = false;
/** If set, messages, logs and destructions are reported. */
export let tracing: bool = false;
/** If set, decoding puts every instruction into a separate block, which reports it. */
export let stepping: bool = false;
/** If set, decoding puts every instruction that names an account or a slot into a separate block, which reports it. */
export let touching: bool = false;

export function setRules(newFork: u32, newLastPrecompile: u32, newHasP256: bool, trace: u32): void {
  fork = newFork;
  lastPrecompile = newLastPrecompile;
  hasP256 = newHasP256;
  tracing = trace != TRACE_NOTHING;
  stepping = trace == TRACE_STEPS;
  touching = trace == TRACE_TOUCHES;
  overrideCount = 0;
}

/** Whether the word is the address of a precompile of the rules. */
@inline export function isPrecompile(address: u32): bool {
  if (!fits64(address)) return false;
  const id = load<u64>(address);
  return (id != 0 && id <= <u64>lastPrecompile) || (id == 0x100 && hasP256);
}

/** Accounts with another precompile than in the rules, or without one: 8 bytes each, account and number. */
const OVERRIDES: usize = memory.data(64 * 8, 8);
const MAX_OVERRIDES: u32 = 64;
let overrideCount: u32 = 0;

/** Number of the precompile at the account; 0: none. */
@inline export function precompileAt(account: u32): u32 {
  if (overrideCount != 0) return overriddenPrecompile(account);
  return isPrecompile(account + A_ADDRESS) ? <u32>load<u64>(account + A_ADDRESS) : 0;
}

function overriddenPrecompile(account: u32): u32 {
  const at = overrideOf(account);
  if (at != 0) return load<u32>(at, 4);
  return isPrecompile(account + A_ADDRESS) ? <u32>load<u64>(account + A_ADDRESS) : 0;
}

function overrideOf(account: u32): u32 {
  for (let i: u32 = 0; i < overrideCount; i++) {
    const at = <u32>OVERRIDES + 8 * i;
    if (load<u32>(at) == account) return at;
  }
  return 0;
}

/** @returns false when there is no room */
function overridePrecompile(account: u32, id: u32): bool {
  let at = overrideOf(account);
  if (at == 0) {
    if (overrideCount == MAX_OVERRIDES) return false;
    at = <u32>OVERRIDES + 8 * overrideCount++;
    store<u32>(at, account);
  }
  store<u32>(at, id, 4);
  return true;
}

/**
 * Moves the precompile at `from` to `to` until the next block, or removes it if `to` is 0. Returns 1; 0 if there is none at
 * `from`; 2 if there are too many moves.
 */
export function movePrecompile(from: u32, to: u32): u32 {
  const id = precompileAt(from);
  if (id == 0) return 0;
  if (!overridePrecompile(from, 0)) return 2;
  return to == 0 || overridePrecompile(to, id) ? 1 : 2;
}
