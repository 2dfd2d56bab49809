import { kzgContext } from "@rnode/kzg";
import { serveWorker } from "@rnode/threads/serve";

// The thread of `createKzgVerifier`. It loads the trusted setup (two seconds) before it takes its first question: commitment, z, y and proof, one
// behind the other.

const context = kzgContext();

function verify(question: Uint8Array): boolean {
  const part = (from: number, to: number): Uint8Array => question.subarray(from, to);
  try {
    return context.verifyKzgProof(part(0, 48), part(48, 80), part(80, 112), part(112, 160));
  } catch {
    return false; // the library throws on bytes that are not a curve point or not a canonical field element
  }
}

serveWorker<Uint8Array, boolean>((question) => ({ answer: verify(question), transfer: [] }));
