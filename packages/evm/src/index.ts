export type { MessageKind } from "./engine/layout.ts";
export { compileEvm, type EvmModule } from "./engine/module.ts";
export type { EvmErrorCode } from "./errors.ts";
export { createEvm, type EvmEngine, type EvmOptions } from "./evm.ts";
export * from "./execution.ts";
export { type KzgVerifier, portableKzgVerifier } from "./precompiles/point-evaluation.ts";
export * from "./state.ts";
export * from "./tracer.ts";
export { SYSTEM_ADDRESS } from "./transaction/call.ts";
