import { type NativeSecp256k1, nativeModules } from "@rnode/native";
import { type LibraryBackend, PUBLIC_KEY_BYTES, type Secp256k1Backend, SIGNED_BYTES } from "./secp256k1-api.ts";

/**
 * Recovery uses rnode's native code where it is compiled: 0.7 of the library's time for one key, 0.55 per key for several. The
 * library does the rest.
 */
export async function loadSecp256k1Backend(): Promise<Secp256k1Backend> {
  const library = await loadSecp256k1Library();
  if (nativeModules === undefined) return { ...library, recoverAll: (signed) => recoverEach(library, signed) };
  return withNativeRecovery(library, nativeModules.secp256k1);
}

const HASH_SIZE = 32;
/** limit of the native code */
const MAX_TOGETHER = 64;
const FLAG_AT = SIGNED_BYTES - 1;

function withNativeRecovery(library: LibraryBackend, native: NativeSecp256k1): Secp256k1Backend {
  const at = native.buffer() + 16;
  const records = new Uint8Array(native.memory.buffer, at, MAX_TOGETHER * SIGNED_BYTES);
  const recovered = new Uint8Array(PUBLIC_KEY_BYTES);
  return {
    ...library,
    recover: (hash, signature, yParity) => {
      if (yParity !== 0 && yParity !== 1) return library.recover(hash, signature, yParity); // r + n: not in real signatures
      records.set(hash);
      records.set(signature, HASH_SIZE);
      records[FLAG_AT] = yParity;
      native.recover(at, 1);
      if (records[FLAG_AT] === 0) throw new RangeError("no key can be recovered");
      copyKey(records, 0, recovered, 0);
      return recovered;
    },
    recoverAll: (signed) => {
      const count = signed.length / SIGNED_BYTES;
      const keys = new Uint8Array(count * PUBLIC_KEY_BYTES);
      for (let first = 0; first < count; first += MAX_TOGETHER) {
        const size = Math.min(MAX_TOGETHER, count - first);
        records.set(signed.subarray(first * SIGNED_BYTES, (first + size) * SIGNED_BYTES));
        native.recover(at, size);
        for (let i = 0; i < size; i++) {
          if (records[i * SIGNED_BYTES + FLAG_AT] === 1) copyKey(records, i * SIGNED_BYTES, keys, (first + i) * PUBLIC_KEY_BYTES);
        }
      }
      return keys;
    },
  };
}

/** Copies x ‖ y to 4 ‖ x ‖ y. */
function copyKey(from: Uint8Array, fromAt: number, to: Uint8Array, toAt: number): void {
  to[toAt] = 0x04;
  for (let i = 1; i < PUBLIC_KEY_BYTES; i++) to[toAt + i] = from[fromAt + i - 1]!;
}

/** A library recovers keys one by one. */
function recoverEach({ recover }: LibraryBackend, signed: Uint8Array): Uint8Array {
  const count = signed.length / SIGNED_BYTES;
  const keys = new Uint8Array(count * PUBLIC_KEY_BYTES);
  for (let i = 0; i < count; i++) {
    const record = signed.subarray(i * SIGNED_BYTES, (i + 1) * SIGNED_BYTES);
    try {
      keys.set(recover(record.slice(0, HASH_SIZE), record.slice(HASH_SIZE, FLAG_AT), record[FLAG_AT]!), i * PUBLIC_KEY_BYTES);
    } catch {
      // no key: the record stays zero
    }
  }
  return keys;
}

/**
 * The native binding, or WebAssembly on platforms without one. PERF: native, 50 µs per recovery and 35 µs per signature.
 * WebAssembly is loaded only if needed, because its tables and memory add 20 ms to the start of every thread.
 */
export async function loadSecp256k1Library(
  loadBinding: () => Promise<{ default: typeof import("secp256k1") }> = () => import("secp256k1/bindings.js"),
): Promise<LibraryBackend> {
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
