import type { Socket } from "node:net";
import { DevP2PError } from "../errors.ts";

/** Smaller chunks are copied together: a peer that sends single bytes would have an object kept here for each of them. */
const BLOCK_BYTES = 16 * 1024;

/**
 * Reads a socket in pieces of known sizes. Unread data stays in the system's buffer, whose window stops the sender: at most one
 * piece and the rest of its packet are in memory.
 */
export class SocketReader {
  readonly #socket: Socket;
  readonly #chunks: Uint8Array[] = [];
  /** small chunks are copied behind one another here, and `#chunks` has views of it */
  #block: { readonly bytes: Uint8Array; used: number } | undefined;
  #size = 0;
  #end: Error | undefined;
  #waiting:
    | {
        readonly size: number;
        readonly resolve: () => void;
        readonly reject: (error: Error) => void;
        readonly timer: NodeJS.Timeout;
      }
    | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#keep(chunk);
      if (this.#size >= (this.#waiting?.size ?? 0)) {
        socket.pause();
        this.#settle();
      }
    });
    socket.on("error", (cause) => this.#stop(new DevP2PError("devp2p/disconnected", { reason: cause.message }, { cause })));
    socket.on("close", () => this.#stop(new DevP2PError("devp2p/disconnected")));
    socket.pause();
  }

  /**
   * @param limitMs for all of it
   * @throws {DevP2PError} devp2p/timeout, devp2p/disconnected
   */
  async read(size: number, limitMs: number): Promise<Uint8Array> {
    if (this.#size < size) {
      if (this.#end !== undefined) throw this.#end;
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          this.#waiting = undefined;
          reject(new DevP2PError("devp2p/timeout", { limitMs }));
        }, limitMs);
        this.#waiting = { size, resolve, reject, timer };
        this.#socket.resume();
      });
    }
    return this.#take(size);
  }

  #keep(chunk: Uint8Array): void {
    this.#size += chunk.length;
    if (chunk.length >= BLOCK_BYTES / 2) {
      this.#block = undefined;
      this.#chunks.push(chunk);
      return;
    }
    if (this.#block === undefined || this.#block.bytes.length - this.#block.used < chunk.length)
      this.#block = { bytes: new Uint8Array(BLOCK_BYTES), used: 0 };
    const { bytes, used } = this.#block;
    bytes.set(chunk, used);
    this.#block.used += chunk.length;
    const last = this.#chunks.at(-1);
    const isContinued = last?.buffer === bytes.buffer;
    this.#chunks[this.#chunks.length - (isContinued ? 1 : 0)] = bytes.subarray(
      isContinued ? last.byteOffset : used,
      this.#block.used,
    );
  }

  #settle(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    clearTimeout(waiting.timer);
    waiting.resolve();
  }

  #stop(error: Error): void {
    this.#end ??= error;
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    clearTimeout(waiting.timer);
    waiting.reject(this.#end);
  }

  #take(size: number): Uint8Array {
    const [first] = this.#chunks;
    if (first !== undefined && first.length > size) {
      this.#chunks[0] = first.subarray(size);
      this.#size -= size;
      return first.subarray(0, size);
    }
    const taken = new Uint8Array(size);
    for (let at = 0; at < size; ) {
      const chunk = this.#chunks[0]!;
      const used = Math.min(chunk.length, size - at);
      taken.set(chunk.subarray(0, used), at);
      at += used;
      if (used === chunk.length) this.#chunks.shift();
      else this.#chunks[0] = chunk.subarray(used);
    }
    this.#size -= size;
    return taken;
  }
}
