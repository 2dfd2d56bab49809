import { type NativeSecp256k1, nativeModules } from "@rnode/native";
import { PUBLIC_KEY_BYTES, type Secp256k1Backend, type Secp256k1Library, SIGNED_BYTES } from "./secp256k1-api.ts";

export const loadSecp256k1Backend = async (): Promise<Secp256k1Backend> =>
  backendOf(await loadSecp256k1Library(), nativeModules?.secp256k1);

/**
 * Recovery by the project's native code where it is compiled, otherwise by the library; the library does the rest. Figures:
 * README.md
 */
export const backendOf = (library: Secp256k1Library, native: NativeSecp256k1 | undefined): Secp256k1Backend => ({
  ...library,
  recover: native === undefined ? recoverEach(library) : recoverTogether(native),
});

const HASH_SIZE = 32;
/** limit of the native code */
const MAX_TOGETHER = 64;
const FLAG_AT = SIGNED_BYTES - 1;

function recoverTogether(native: NativeSecp256k1): Secp256k1Backend["recover"] {
  const at = native.buffer() + 16;
  const records = new Uint8Array(native.memory.buffer, at, MAX_TOGETHER * SIGNED_BYTES);
  return (signed, keys) => {
    const count = signed.length / SIGNED_BYTES;
    for (let first = 0; first < count; first += MAX_TOGETHER) {
      const size = Math.min(MAX_TOGETHER, count - first);
      records.set(size === count ? signed : signed.subarray(first * SIGNED_BYTES, (first + size) * SIGNED_BYTES));
      native.recover(at, size);
      for (let i = 0; i < size; i++) {
        const from = i * SIGNED_BYTES - 1; // x ‖ y to 4 ‖ x ‖ y
        const to = (first + i) * PUBLIC_KEY_BYTES;
        keys[to] = records[i * SIGNED_BYTES + FLAG_AT] === 1 ? 0x04 : 0;
        for (let byte = 1; byte < PUBLIC_KEY_BYTES; byte++) keys[to + byte] = records[from + byte]!;
      }
    }
  };
}

/** A library recovers keys one by one. */
function recoverEach(library: Secp256k1Library): Secp256k1Backend["recover"] {
  // PERF: V8 keeps arrays of up to 64 bytes on its heap. When native code requests their bytes, V8 moves each array off-heap, with an
  // allocation and a finalizer, which takes a tenth of a recovery. An array over an explicit ArrayBuffer is off-heap from the start.
  const hash = new Uint8Array(new ArrayBuffer(HASH_SIZE));
  const signature = new Uint8Array(new ArrayBuffer(FLAG_AT - HASH_SIZE));
  return (signed, keys) => {
    for (let i = 0; i * SIGNED_BYTES < signed.length; i++) {
      const at = i * SIGNED_BYTES;
      const flag = signed[at + FLAG_AT]!;
      keys[i * PUBLIC_KEY_BYTES] = 0;
      if (flag > 1) continue; // r + n: not in real signatures
      hash.set(signed.subarray(at, at + HASH_SIZE));
      signature.set(signed.subarray(at + HASH_SIZE, at + FLAG_AT));
      try {
        keys.set(library.recover(hash, signature, flag === 1 ? 1 : 0), i * PUBLIC_KEY_BYTES);
      } catch {
        // the library finds no key
      }
    }
  };
}

/**
 * The native binding, or WebAssembly on platforms without one. WebAssembly is loaded only if needed, because its tables and memory add
 * 40 ms of CPU time to the start of every thread.
 */
export async function loadSecp256k1Library(
  loadBinding: () => Promise<{ default: typeof import("secp256k1") }> = () => import("secp256k1/bindings.js"),
): Promise<Secp256k1Library> {
  try {
    const { default: native } = await loadBinding();
    const recovered = new Uint8Array(PUBLIC_KEY_BYTES);
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
