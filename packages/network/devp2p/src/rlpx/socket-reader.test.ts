import { randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { SocketReader } from "./socket-reader.ts";

/** A socket with given chunks; it sends only while it is read. */
class ChunkedSocket extends EventEmitter {
  isPaused = true;
  pause(): void {
    this.isPaused = true;
  }
  resume(): void {
    this.isPaused = false;
  }
}

function newReader(): { readonly socket: ChunkedSocket; readonly reader: SocketReader } {
  const socket = new ChunkedSocket();
  return { socket, reader: new SocketReader(socket as unknown as Socket) };
}

const LIMIT_MS = 60_000;

describe("SocketReader", () => {
  it("gives pieces of any size from chunks of any size", async () => {
    const { socket, reader } = newReader();
    const sent = new Uint8Array(randomBytes(200_000));
    const chunks = [1, 7, 8_191, 3, 8_192, 1, 1, 20_000, 16_000, 500, 500, 70_000, 1, 9_000];
    const pieces = [2, 300, 8_000, 1, 40_000, 16, 16, 17, 16_384, 5_000];
    const taken: Uint8Array[] = [];
    let sentBytes = 0;
    for (let turn = 0; taken.reduce((sum, { length }) => sum + length, 0) < 180_000; turn++) {
      const size = Math.min(pieces[turn % pieces.length]!, 180_000 - taken.reduce((sum, { length }) => sum + length, 0));
      const piece = reader.read(size, LIMIT_MS);
      for (let at = turn; !socket.isPaused; at++) {
        const chunk = sent.slice(sentBytes, sentBytes + chunks[at % chunks.length]!);
        sentBytes += chunk.length;
        socket.emit("data", chunk);
      }
      taken.push(await piece);
    }
    expect(Buffer.compare(Buffer.concat(taken), sent.subarray(0, 180_000))).toBe(0);
  });

  it("keeps no object for each byte of a peer that sends them one by one", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const { socket, reader } = newReader();
    const size = 50_000;
    const piece = reader.read(size, LIMIT_MS);
    const sent = Array.from({ length: size - 1 }, () => {
      const chunk = new Uint8Array(1);
      socket.emit("data", chunk);
      return new WeakRef(chunk.buffer);
    });
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    expect(sent.filter((chunk) => chunk.deref() !== undefined).length).toBeLessThan(100);
    socket.emit("data", new Uint8Array(1));
    expect(await piece).toHaveLength(size);
  });
});
