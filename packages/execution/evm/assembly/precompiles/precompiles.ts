/** The module of the precompiles with big-number arithmetic, with its own memory. Inputs and outputs are at `buffer()`. */
export { bn254Add, bn254Multiply } from "./bn254-g1";
export { pairingCheck as bn254Pairing } from "./bn254-pairing";
export { modexp } from "./modexp";
export { p256Verify } from "./p256";
export { buffer, reserve } from "./buffer";
