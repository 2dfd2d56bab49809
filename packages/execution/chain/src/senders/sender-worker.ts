import { addKeccak256, flushKeccak256 } from "@rnode/primitives";
import { recoverEncodedSenders } from "@rnode/protocol";
import { serveWorker } from "@rnode/threads/serve";
import { type RecoverReply, type RecoverRequest, SENDER_BYTES } from "./sender-workers.ts";

// The thread of `SenderWorkers`: receives encoded transactions, and returns senders and hashes. A sender that cannot be recovered stays
// zero; the caller's thread finds out why.

function prepare(packed: Uint8Array, ends: Uint32Array): RecoverReply {
  const senders = new Uint8Array(ends.length * SENDER_BYTES);
  const hashes = new Uint8Array(ends.length * 32);
  const encoded = Array.from(ends, (end, index) => packed.subarray(ends[index - 1] ?? 0, end));
  for (const [index, bytes] of encoded.entries()) addKeccak256(bytes, hashes, index * 32);
  flushKeccak256();
  for (const [index, sender] of recoverEncodedSenders(encoded).entries()) {
    if (sender !== undefined) senders.set(sender, index * SENDER_BYTES);
  }
  return { senders, hashes };
}

serveWorker<RecoverRequest, RecoverReply>(({ packed, ends }) => {
  const answer = prepare(packed, ends);
  return { answer, transfer: [answer.senders.buffer as ArrayBuffer, answer.hashes.buffer as ArrayBuffer] };
});
