import { instantiateSecp256k1 } from "@bitauth/libauth/build/lib/crypto/secp256k1.js";
import type { LibraryBackend } from "./secp256k1-api.ts";

/** The library returns a sentence instead of a result when it rejects an argument. */
function bytesOrThrow<T extends object>(answer: T | string): T {
  if (typeof answer === "string") throw new RangeError(answer);
  return answer;
}

/**
 * libsecp256k1 as WebAssembly, for platforms without a native binding. PERF: 2.3 times the native time (README.md). The import
 * path names one module, because the package's entry point would load 25 MB of other modules.
 */
export async function loadWasmBackend(): Promise<LibraryBackend> {
  const library = await instantiateSecp256k1();
  return {
    name: "wasm",
    recover: (hash, signature, yParity) => {
      // the C library aborts on any other number, and does not restore its stack
      if (yParity !== 0 && yParity !== 1 && yParity !== 2 && yParity !== 3) throw new RangeError("y parity is not 0 to 3");
      return bytesOrThrow(library.recoverPublicKeyUncompressed(signature, yParity, hash));
    },
    sign: (hash, privateKey) => {
      const { signature, recoveryId } = bytesOrThrow(library.signMessageHashRecoverableCompact(privateKey, hash));
      return { signature, yParity: recoveryId };
    },
    publicKey: (privateKey) => bytesOrThrow(library.derivePublicKeyUncompressed(privateKey)),
  };
}
