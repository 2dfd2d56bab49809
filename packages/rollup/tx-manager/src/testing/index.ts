export { SimL1, type SimL1Block, type SimL1Draft, type SimTransaction, simFeeWei } from "./sim-l1.ts";
export { SIM_SIGNER, simManager } from "./sim-manager.ts";
export { simProver } from "./sim-prover.ts";
