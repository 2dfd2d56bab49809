import type { Secp256k1Backend } from "./secp256k1-api.ts";

const PUBLIC_KEY_SIZE = 65;

/**
 * The native binding where the platform has one. PERF: 60 µs a recovery, 42 µs a signature. The other one is loaded only without it: its
 * modules and tables would cost every thread 20 to 70 ms at its start.
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
    // no prebuilt binary and no compiler on this platform
    return (await import("./secp256k1-noble.ts")).NOBLE_BACKEND;
  }
}
