import { parentPort } from "node:worker_threads";
import { recoverSigner } from "@rnode/protocol";
import { type RecoverReply, type RecoverRequest, SENDER_BYTES, SIGNATURE_BYTES } from "./sender-workers.ts";

// The thread of `SenderWorkers`: signatures in, senders out.
parentPort?.on("message", ({ id, packed }: RecoverRequest) => {
  const count = packed.length / SIGNATURE_BYTES;
  const senders = new Uint8Array(count * SENDER_BYTES);
  for (let index = 0; index < count; index++) {
    const item = packed.subarray(index * SIGNATURE_BYTES, (index + 1) * SIGNATURE_BYTES);
    const signature = { r: item.subarray(32, 64), s: item.subarray(64, 96), yParity: item[96] === 0 ? 0 : 1 } as const;
    try {
      senders.set(recoverSigner(item.subarray(0, 32), signature, false), index * SENDER_BYTES);
    } catch {
      // Stays zero: the caller's thread finds out why.
    }
  }
  const reply: RecoverReply = { id, senders };
  parentPort!.postMessage(reply);
});
