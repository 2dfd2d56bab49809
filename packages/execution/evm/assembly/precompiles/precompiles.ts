/**
 * The module of the precompiles that need big-number arithmetic, with a memory of its own. Inputs are written at `buffer()`, and
 * outputs are read from there.
 */
export { bn254Add, bn254Multiply } from "./bn254-g1";
export { pairingCheck as bn254Pairing } from "./bn254-pairing";
export { modexp } from "./modexp";
export { p256Verify } from "./p256";
export { buffer, reserve } from "./buffer";
