import { type NativeSecp256k1, nativeModules } from "@rnode/native";
import type { Secp256k1Backend } from "./secp256k1-api.ts";

const PUBLIC_KEY_SIZE = 65;

/** Recovery by our own native code where it was compiled, which takes 0.7 of the library's time; all else by the library. */
export async function loadSecp256k1Backend(): Promise<Secp256k1Backend> {
  const library = await loadSecp256k1Library();
  return nativeModules === undefined ? library : withNativeRecovery(library, nativeModules.secp256k1);
}

const HASH_SIZE = 32;

function withNativeRecovery(library: Secp256k1Backend, native: NativeSecp256k1): Secp256k1Backend {
  const at = native.buffer() + 16;
  const input = new Uint8Array(native.memory.buffer, at, HASH_SIZE + 64);
  const key = new Uint8Array(native.memory.buffer, at - 1, PUBLIC_KEY_SIZE);
  key[0] = 0x04;
  return {
    ...library,
    recover: (hash, signature, yParity) => {
      if (yParity !== 0 && yParity !== 1) return library.recover(hash, signature, yParity); // r + n: nobody signs so
      input.set(hash);
      input.set(signature, HASH_SIZE);
      if (native.recover(at, yParity) === 0) throw new RangeError("no key can be recovered");
      return key;
    },
  };
}

/**
 * The native binding, or WebAssembly on platforms without one. PERF: native, 50 µs per recovery and 35 µs per signature.
 * The other one is only loaded when needed: its tables and its memory would add 20 ms to the start of every thread.
 */
export async function loadSecp256k1Library(
  loadBinding: () => Promise<{ default: typeof import("secp256k1") }> = () => import("secp256k1/bindings.js"),
): Promise<Secp256k1Backend> {
  try {
    const { default: native } = await loadBinding();
    const recovered = new Uint8Array(PUBLIC_KEY_SIZE);
    return {
      name: "native",
      recover: (hash, signature, yParity) => native.ecdsaRecover(signature, yParity, hash, false, recovered),
      sign: (hash, privateKey) => {
        const { signature, recid } = native.ecdsaSign(hash, privateKey);
        return { signature, yParity: recid };
      },
      publicKey: (privateKey) => native.publicKeyCreate(privateKey, false),
    };
  } catch {
    // this platform has no prebuilt binary and no compiler
    const { loadWasmBackend } = await import("./secp256k1-wasm.ts");
    return loadWasmBackend();
  }
}
