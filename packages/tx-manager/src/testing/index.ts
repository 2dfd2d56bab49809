export { SimL1, type SimL1Block, simFeeWei } from "./sim-l1.ts";
export { simProver } from "./sim-prover.ts";
