// Execution of a block on a witness: works in a browser as in Node.js, as nothing that these files import needs either.
export { receiptsRoot } from "../execute/block-execution.ts";
export { ChainError } from "../faults.ts";
export * from "./stateless.ts";
export * from "./verify-block.ts";
export * from "./witness-file.ts";
export type { Witness } from "./witness-state.ts";
