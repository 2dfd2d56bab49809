export { asm } from "./asm.ts";
export { addressHex, environment, ethereumRules, MemoryState } from "./memory-state.ts";
