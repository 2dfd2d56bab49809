import { concatBytes } from "@rnode/primitives";
import { isCompiled, type ThreadOverrides, WorkerHost } from "@rnode/threads";

/** The only KZG operation of the EVM: whether `y` is the value at `z` of the polynomial behind `commitment`. */
export interface KzgVerifier {
  /** @returns undefined: the verifier is not ready */
  verifyKzgProof(commitment: Uint8Array, z: Uint8Array, y: Uint8Array, proof: Uint8Array): boolean | undefined;
}

/** A proof takes little more than a millisecond. */
const MAX_WAIT_MS = 1000;

let shared: KzgVerifier | undefined;

/**
 * The verifier for the point evaluation precompile: the native library, in a thread that all engines of a process share. Loading its trusted
 * setup takes two seconds, in which a block must not wait: until then it has no answers. The thread is started at the first proof, because most
 * chains never see one.
 */
export function createKzgVerifier(): KzgVerifier {
  shared ??= isCompiled(import.meta.url) ? startKzgVerifier() : { verifyKzgProof: () => undefined };
  return shared;
}

export function startKzgVerifier(overrides: ThreadOverrides = {}): KzgVerifier {
  const program = new URL("./kzg-proof-thread.js", import.meta.url);
  const host = new WorkerHost<Uint8Array, boolean>({ program, data: undefined, ...overrides });
  return {
    verifyKzgProof(commitment, z, y, proof) {
      if (!host.start()) return undefined;
      return host.askToWait(concatBytes(commitment, z, y, proof), [], MAX_WAIT_MS).wait();
    },
  };
}
