import { instantiateSecp256k1 } from "@bitauth/libauth/build/lib/crypto/secp256k1.js";
import type { Secp256k1Library } from "./secp256k1-api.ts";

/** The library returns a sentence instead of a result when it rejects an argument. */
function bytesOrThrow<T extends object>(answer: T | string): T {
  if (typeof answer === "string") throw new RangeError(answer);
  return answer;
}

/**
 * libsecp256k1 as WebAssembly, for platforms without a native binding. The import path names one module, because the package's entry
 * point would load 25 MB of other modules.
 */
export async function loadWasmBackend(): Promise<Secp256k1Library> {
  const library = await instantiateSecp256k1();
  return {
    name: "wasm",
    recover: (hash, signature, yParity) => bytesOrThrow(library.recoverPublicKeyUncompressed(signature, yParity, hash)),
    sign: (hash, privateKey) => {
      const { signature, recoveryId } = bytesOrThrow(library.signMessageHashRecoverableCompact(privateKey, hash));
      return { signature, yParity: recoveryId };
    },
    publicKey: (privateKey) => bytesOrThrow(library.derivePublicKeyUncompressed(privateKey)),
  };
}
