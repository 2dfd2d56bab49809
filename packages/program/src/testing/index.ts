export { foundryBinary, runProgram } from "./foundry.ts";
export * from "./sim-clock.ts";
