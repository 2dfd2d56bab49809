import type { Secp256k1Backend } from "./secp256k1-api.ts";

const PUBLIC_KEY_SIZE = 65;

/**
 * The native binding, or WebAssembly on platforms without one. PERF: native, 50 µs per recovery and 35 µs per signature.
 * The other one is only loaded when needed: its tables and its memory would add 20 ms to the start of every thread.
 */
export async function loadSecp256k1Backend(
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
