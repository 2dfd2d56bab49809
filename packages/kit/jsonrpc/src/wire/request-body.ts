/** A request of more bytes takes long to read as JSON; another thread can do it. */
export const VERY_LARGE_BYTES = 1024 * 1024;
const SLAB_BYTES = 1024 * 1024;

/**
 * The bytes of a very large request, in pieces with separate buffers, which can be transferred to another thread without a copy.
 */
type BodyPieces = readonly Uint8Array<ArrayBuffer>[];

/** A request as received: text, or undecoded bytes. */
export type RequestText = string | BodyPieces;

/**
 * Collects the body of a request. PERF: a very large body is neither joined nor decoded in this thread: for 15 MiB, that would
 * block the event loop for tens of milliseconds.
 */
export class RequestBody {
  #chunks: Buffer[] = [];
  #slabs: Uint8Array<ArrayBuffer>[] | undefined;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#slabs !== undefined) {
      this.#copy(chunk);
      return;
    }
    this.#chunks.push(chunk);
    if (this.#bytes <= VERY_LARGE_BYTES) return;
    this.#slabs = [];
    let at = 0;
    for (const earlier of this.#chunks.splice(0)) at = this.#copy(earlier, at);
  }

  /** Call it once, when the whole body has arrived. */
  finish(): RequestText {
    if (this.#slabs === undefined) return textOf(this.#chunks.splice(0), this.#bytes);
    const pieces = this.#slabs.map((slab, index) => slab.subarray(0, this.#bytes - index * SLAB_BYTES));
    this.#slabs = undefined;
    return pieces;
  }

  /** Copies a chunk into the slabs. @param at start position @returns end position */
  #copy(chunk: Uint8Array, at = this.#bytes - chunk.length): number {
    const slabs = this.#slabs!;
    let end = at;
    for (let rest = chunk; rest.length > 0; ) {
      const index = Math.floor(end / SLAB_BYTES);
      const slab = (slabs[index] ??= new Uint8Array(Buffer.allocUnsafeSlow(SLAB_BYTES).buffer as ArrayBuffer));
      const part = rest.subarray(0, SLAB_BYTES - (end % SLAB_BYTES));
      slab.set(part, end % SLAB_BYTES);
      end += part.length;
      rest = rest.subarray(part.length);
    }
    return end;
  }
}

/** A request that has arrived in one piece. */
export function requestTextOf(bytes: Buffer): RequestText {
  if (bytes.length <= VERY_LARGE_BYTES) return bytes.toString("utf8");
  const body = new RequestBody();
  body.add(bytes);
  return body.finish();
}

/** Decodes a received request. */
export function decodeRequest(text: RequestText): string {
  return typeof text === "string" ? text : textOf(text);
}

/** The transfer list for `postMessage`. Afterwards the request is empty in this thread. */
export const buffersOfRequest = (text: RequestText): readonly ArrayBuffer[] =>
  typeof text === "string" ? [] : text.map(({ buffer }) => buffer);

/** characters or bytes */
export const sizeOfRequest = (text: RequestText): number =>
  typeof text === "string" ? text.length : text.reduce((sum, { length }) => sum + length, 0);

const textOf = (pieces: readonly Uint8Array[], bytes?: number): string =>
  pieces.length === 1
    ? Buffer.from(pieces[0]!.buffer, pieces[0]!.byteOffset, pieces[0]!.length).toString("utf8")
    : Buffer.concat(pieces, bytes).toString("utf8");
