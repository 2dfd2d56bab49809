import { parentPort } from "node:worker_threads";
import { writeKeccak256 } from "@rnode/primitives";
import { recoverEncodedSender } from "@rnode/protocol";
import { type RecoverReply, type RecoverRequest, SENDER_BYTES } from "./sender-workers.ts";

// The thread of `SenderWorkers`: encoded transactions in, senders and hashes out. What cannot be recovered stays zero: the
// caller's thread finds out why.

function prepare(packed: Uint8Array, ends: Uint32Array): Omit<RecoverReply, "id"> {
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

parentPort?.on("message", ({ id, packed, ends }: RecoverRequest) => {
  const made = prepare(packed, ends);
  const reply: RecoverReply = { id, ...made };
  parentPort!.postMessage(reply, [made.senders.buffer as ArrayBuffer, made.hashes.buffer as ArrayBuffer]);
});
