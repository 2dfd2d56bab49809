import { SLICE_BYTES } from "./unsent.ts";

/** A long answer as UTF-8, in pieces that are sent one after the other. Making one string of it would take long, and bytes of that again. */
export class AnswerBytes {
  readonly pieces: readonly Buffer[];
  readonly byteLength: number;
  /** of a single answer: its result, if it is a separate buffer without other owners */
  readonly ownResult: Buffer<ArrayBuffer> | undefined;

  constructor(pieces: readonly Buffer[], ownResult?: Buffer<ArrayBuffer>) {
    this.pieces = pieces;
    this.ownResult = ownResult;
    this.byteLength = pieces.reduce((sum, { length }) => sum + length, 0);
  }

  toString(): string {
    return Buffer.concat(this.pieces, this.byteLength).toString("utf8");
  }
}

/** The text of the answer; `undefined`: none (there were only notifications). */
export type Answer = string | AnswerBytes | undefined;

/** Puts the answers of a batch together as they are made. */
export class BatchAnswer {
  readonly #pieces: Buffer[] = [];
  #texts: string[] = [];
  #textLength = 0;
  /** of all answers, in characters or bytes */
  length = 0;

  add(answer: NonNullable<Answer>): void {
    if (typeof answer !== "string" && answer.byteLength > SLICE_BYTES) {
      this.#addBytes(answer);
      return;
    }
    const text = String(answer);
    if (this.#textLength > 0 && this.#textLength + text.length > SLICE_BYTES) this.#encode();
    this.#texts.push(text);
    this.#textLength += text.length;
    this.length += text.length;
  }

  finish(): Answer {
    if (this.#pieces.length === 0) return this.#texts.length === 0 ? undefined : `[${this.#texts.join(",")}]`;
    if (this.#texts.length > 0) this.#encode("]");
    else this.#pieces.push(Buffer.from("]"));
    return new AnswerBytes(this.#pieces);
  }

  #addBytes({ pieces, byteLength }: AnswerBytes): void {
    if (this.#texts.length > 0) this.#encode();
    this.#pieces.push(Buffer.from(this.#separator), ...pieces);
    this.length += byteLength;
  }

  get #separator(): string {
    return this.#pieces.length === 0 ? "[" : ",";
  }

  #encode(end = ""): void {
    this.#pieces.push(Buffer.from(`${this.#separator}${this.#texts.join(",")}${end}`, "utf8"));
    this.#texts = [];
    this.#textLength = 0;
  }
}
