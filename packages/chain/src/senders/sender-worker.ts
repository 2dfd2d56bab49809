import { writeKeccak256 } from "@rnode/primitives";
import { recoverEncodedSender } from "@rnode/protocol";
import { serveWorker } from "@rnode/worker-host/serve";
import { type RecoverReply, type RecoverRequest, SENDER_BYTES } from "./sender-workers.ts";

// The thread of `SenderWorkers`: receives encoded transactions, and returns senders and hashes. A sender that cannot be recovered stays
// zero; the caller's thread finds out why.

function prepare(packed: Uint8Array, ends: Uint32Array): RecoverReply {
  const senders = new Uint8Array(ends.length * SENDER_BYTES);
  const hashes = new Uint8Array(ends.length * 32);
  for (let index = 0, at = 0; index < ends.length; index++) {
    const encoded = packed.subarray(at, ends[index]);
    at = ends[index]!;
    writeKeccak256(hashes, index * 32, encoded);
    try {
      senders.set(recoverEncodedSender(encoded), index * SENDER_BYTES);
    } catch {
      // see above
    }
  }
  return { senders, hashes };
}

serveWorker<RecoverRequest, RecoverReply>(({ packed, ends }) => {
  const answer = prepare(packed, ends);
  return { answer, transfer: [answer.senders.buffer as ArrayBuffer, answer.hashes.buffer as ArrayBuffer] };
});
