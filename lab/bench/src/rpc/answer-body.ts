/** Finds the end of an HTTP answer's body, with a content length or in chunks (without trailers). */
export class AnswerBody {
  /** of the body, or of the present chunk with the line end after it */
  #missing: number;
  readonly #isChunked: boolean;
  #isLast: boolean;
  /** the beginning of a chunk's first line */
  #line = "";

  /** @param length `undefined`: in chunks */
  constructor(length: number | undefined) {
    this.#isChunked = length === undefined;
    this.#isLast = length !== undefined;
    this.#missing = length ?? 0;
  }

  /** Takes the bytes from `from` up to `to`. @returns whether the body has ended */
  take(buffer: Buffer, from: number, to: number): boolean {
    for (let at = from; ; ) {
      const used = Math.min(this.#missing, to - at);
      this.#missing -= used;
      at += used;
      if (this.#missing > 0) return false;
      if (this.#isLast) return true;
      if (at === to) return false;
      at = this.#startChunk(buffer, at, to);
    }
  }

  /** @returns the position after the read part of the chunk's first line */
  #startChunk(buffer: Buffer, from: number, to: number): number {
    const end = buffer.subarray(from, to).indexOf("\n");
    this.#line += buffer.toString("latin1", from, end === -1 ? to : from + end);
    if (end === -1) return to;
    const size = Number.parseInt(this.#line, 16);
    if (!this.#isChunked || Number.isNaN(size)) throw new Error(`no size of a chunk: ${JSON.stringify(this.#line)}`);
    this.#line = "";
    this.#isLast = size === 0;
    this.#missing = size + 2;
    return from + end + 1;
  }
}
