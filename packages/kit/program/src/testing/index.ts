export * from "./describe-migration.ts";
export * from "./foreign-check.ts";
export { type DevProgram, foundryBinary, runProgram, startDevProgram } from "./foundry.ts";
export { freePort } from "./free-port.ts";
export { GoProgram } from "./go-program.ts";
export { type InteropCase, runCases } from "./interop-cases.ts";
export * from "./sim-clock.ts";
export { until } from "./until.ts";
