import type { Stream } from "@libp2p/interface";

/** A list of byte strings, as streams of libp2p deliver it. */
interface ByteList {
  subarray(): Uint8Array;
}
type Chunk = Uint8Array | ByteList;

const MAX_VARINT_BYTES = 4;
const FIRST_ALLOCATION_BYTES = 4096;
/** Complete frames that may wait before the peer is held back. */
const MAX_WAITING_BYTES = 64 * 1024;

/** Total memory of the frames of all peers: incoming, waiting, and in processing. */
export class FrameMemory {
  private readonly maxBytes: number;
  private readonly held = new Map<FrameReader, number>();
  private total = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get heldBytes(): number {
    return this.total;
  }

  /** Beyond the limit, the readers with the most bytes are aborted, possibly the calling one. */
  set(reader: FrameReader, bytes: number): void {
    this.total += bytes - (this.held.get(reader) ?? 0);
    if (bytes === 0) this.held.delete(reader);
    else this.held.set(reader, bytes);
    while (this.total > this.maxBytes) {
      const [largest, size] = [...this.held].reduce((most, each) => (each[1] > most[1] ? each : most));
      this.held.delete(largest);
      this.total -= size;
      largest.abort(new Error(`gossip: all peers together have sent more than ${this.maxBytes} bytes, this one most`));
    }
  }
}

/**
 * The frames of a stream, in one array: length as a varint ‖ data. A plain libp2p stream buffers without a limit while its reader
 * is busy, and keeps every fragment as an object. Here a peer whose frames are not read is paused, fragments are copied together,
 * and memory grows only with received bytes.
 */
export class FrameReader {
  private readonly stream: Stream;
  private readonly memory: FrameMemory;
  private readonly maxBytes: number;
  private readonly frames: Uint8Array[] = [];
  private waitingBytes = 0;
  private takenBytes = 0;
  /** the frame that is coming in; its length is unknown while `expected` is undefined */
  private buffer = new Uint8Array(0);
  private filled = 0;
  private expected: number | undefined;
  private ended: { readonly error?: Error | undefined } | undefined;
  private wake: () => void = () => {};

  constructor(stream: Stream, memory: FrameMemory, maxBytes: number) {
    this.stream = stream;
    this.memory = memory;
    this.maxBytes = maxBytes;
  }

  /** Ends with the stream. A frame is held until the next one is requested. */
  async *read(): AsyncGenerator<Uint8Array> {
    const { stream } = this;
    const onMessage = (event: { readonly data: Chunk }): void => this.receive(event.data);
    const onClose = (event: { readonly error?: Error | undefined }): void => this.end(event.error);
    const onRemoteCloseWrite = (): void => this.end();
    stream.addEventListener("message", onMessage);
    stream.addEventListener("close", onClose);
    stream.addEventListener("remoteCloseWrite", onRemoteCloseWrite);
    try {
      for (;;) {
        this.takenBytes = 0;
        const frame = this.frames.shift();
        if (frame !== undefined) {
          this.waitingBytes -= frame.length;
          this.takenBytes = frame.length;
          yield frame;
          continue;
        }
        this.account();
        if (this.ended !== undefined) {
          if (this.ended.error !== undefined) throw this.ended.error;
          return;
        }
        if (stream.readStatus === "paused") stream.resume();
        if (this.frames.length > 0 || this.ended !== undefined) continue;
        await new Promise<void>((resolve) => (this.wake = resolve));
      }
    } finally {
      stream.removeEventListener("message", onMessage);
      stream.removeEventListener("close", onClose);
      stream.removeEventListener("remoteCloseWrite", onRemoteCloseWrite);
      this.ended ??= {};
      this.memory.set(this, 0);
    }
  }

  abort(error: Error): void {
    this.end(error);
    this.frames.length = 0;
    this.stream.abort(error);
  }

  private end(error?: Error): void {
    this.ended ??= { error };
    this.wake();
  }

  private receive(chunk: Chunk): void {
    let bytes = chunk instanceof Uint8Array ? chunk : chunk.subarray();
    try {
      while (bytes.length > 0 && this.ended === undefined) bytes = this.append(bytes);
    } catch (error) {
      this.abort(error as Error);
    }
    if (this.ended !== undefined) return;
    this.account();
    if (this.frames.length === 0) return;
    if (this.waitingBytes > MAX_WAITING_BYTES && this.stream.readStatus === "readable") this.stream.pause();
    this.wake();
  }

  /** @returns the bytes of the next frame */
  private append(bytes: Uint8Array): Uint8Array {
    if (this.expected === undefined) {
      this.reserve(this.filled + 1);
      const byte = bytes[0]!;
      this.buffer[this.filled++] = byte;
      if (byte < 0x80) this.expected = this.filled + this.statedLength();
      else if (this.filled === MAX_VARINT_BYTES) throw new Error("gossip: the length of a message has no end");
      this.completeIfFull();
      return bytes.subarray(1);
    }
    const taken = Math.min(bytes.length, this.expected - this.filled);
    this.reserve(this.filled + taken);
    this.buffer.set(bytes.subarray(0, taken), this.filled);
    this.filled += taken;
    this.completeIfFull();
    return bytes.subarray(taken);
  }

  private statedLength(): number {
    let length = 0;
    for (let i = this.filled - 1; i >= 0; i--) length = length * 128 + (this.buffer[i]! & 0x7f);
    if (length <= this.maxBytes) return length;
    throw new Error(`gossip: a message of ${length} bytes, at most ${this.maxBytes} are allowed`);
  }

  private completeIfFull(): void {
    if (this.filled !== this.expected) return;
    const frame = this.buffer.subarray(0, this.filled);
    this.buffer = new Uint8Array(0);
    this.filled = 0;
    this.expected = undefined;
    this.frames.push(frame);
    this.waitingBytes += frame.length;
  }

  private reserve(bytes: number): void {
    if (bytes <= this.buffer.length) return;
    const doubled = Math.max(bytes, 2 * this.buffer.length, FIRST_ALLOCATION_BYTES);
    const grown = new Uint8Array(Math.min(doubled, this.expected ?? doubled));
    grown.set(this.buffer.subarray(0, this.filled));
    this.buffer = grown;
  }

  private account(): void {
    this.memory.set(this, this.buffer.length + this.waitingBytes + this.takenBytes);
  }
}
