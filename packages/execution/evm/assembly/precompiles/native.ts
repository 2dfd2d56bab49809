/** What packages/base/native compiles: the contracts of precompiles.ts but MODEXP, whose numbers have any length. */
export { bn254Add, bn254Multiply } from "./bn254-g1";
export { pairingCheck as bn254Pairing } from "./bn254-pairing";
export { p256Verify } from "./p256";
export { buffer, reserve } from "./buffer";
