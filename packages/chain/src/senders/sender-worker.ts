import { parentPort } from "node:worker_threads";
import { writeKeccak256 } from "@rnode/primitives";
import { recoverEncodedSender, recoverSigner } from "@rnode/protocol";
import { type RecoverReply, type RecoverRequest, SENDER_BYTES, SIGNATURE_BYTES } from "./sender-workers.ts";

// The thread of `SenderWorkers`: signatures or whole transactions in, senders and hashes out. What cannot be recovered stays zero: the
// caller's thread finds out why.

function recover(packed: Uint8Array): Omit<RecoverReply, "id"> {
  const count = packed.length / SIGNATURE_BYTES;
  const senders = new Uint8Array(count * SENDER_BYTES);
  for (let index = 0; index < count; index++) {
    const item = packed.subarray(index * SIGNATURE_BYTES, (index + 1) * SIGNATURE_BYTES);
    const signature = { r: item.subarray(32, 64), s: item.subarray(64, 96), yParity: item[96] === 0 ? 0 : 1 } as const;
    try {
      senders.set(recoverSigner(item.subarray(0, 32), signature, false), index * SENDER_BYTES);
    } catch {
      // see above
    }
  }
  return { senders, hashes: new Uint8Array(0) };
}

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
  const made = ends === undefined ? recover(packed) : prepare(packed, ends);
  const reply: RecoverReply = { id, ...made };
  parentPort!.postMessage(reply, [made.senders.buffer as ArrayBuffer, made.hashes.buffer as ArrayBuffer]);
});
