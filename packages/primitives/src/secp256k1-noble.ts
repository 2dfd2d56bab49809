import { secp256k1 as noble } from "@noble/curves/secp256k1.js";
import type { Secp256k1Backend } from "./secp256k1-api.ts";

/** Pure JavaScript. PERF: 1.3 ms per recovery, 0.7 ms per signature. */
export const NOBLE_BACKEND: Secp256k1Backend = {
  name: "noble",
  recover: (hash, signature, yParity) =>
    noble.Signature.fromBytes(signature, "compact").addRecoveryBit(yParity).recoverPublicKey(hash).toBytes(false),
  sign: (hash, privateKey) => {
    const recovered = noble.sign(hash, privateKey, { prehash: false, format: "recovered" });
    return { signature: recovered.slice(1), yParity: recovered[0]! };
  },
  publicKey: (privateKey) => noble.getPublicKey(privateKey, false),
};
