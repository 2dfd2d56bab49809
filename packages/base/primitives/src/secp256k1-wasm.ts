import { instantiateSecp256k1 } from "@bitauth/libauth/build/lib/crypto/secp256k1.js";
import type { LibraryBackend } from "./secp256k1-api.ts";

/** The library answers what it refuses with a sentence. */
function bytesOrThrow<T extends object>(answer: T | string): T {
  if (typeof answer === "string") throw new RangeError(answer);
  return answer;
}

/**
 * libsecp256k1 as WebAssembly, for platforms without a native binding. PERF: 2.3 times the native time (README.md). The path is that of one module:
 * the package's entry point would load 25 MB of what else it has.
 */
export async function loadWasmBackend(): Promise<LibraryBackend> {
  const library = await instantiateSecp256k1();
  return {
    name: "wasm",
    recover: (hash, signature, yParity) => {
      // a number that the C library does not know would abort it and leave its stack where it was
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
