import { deserialize, serialize } from "node:v8";
import type { MessageToReader, MessageToWriter } from "./messages.ts";

type Message = MessageToReader | MessageToWriter;

/** What follows the length. Numbers are little-endian; ids and readers are 32 bits; texts are UTF-8 and extend to the end of the frame. */
const OTHER = 0; //    the message, in V8's own form
const CALL = 1; //     id ‖ reader, −1: the writer ‖ text
const ANSWER = 2; //   id ‖ text
const SUBMIT = 3; //   id ‖ sender 20 ‖ encoding
const ACCEPTED = 4; // id ‖ hash 32

const LENGTH_BYTES = 4;
/** length, kind and id */
const HEAD_BYTES = 9;
const SENDER_BYTES = 20;
const WRITER = -1;

/**
 * The frequent messages between readers and the writer have a special format: V8's serialisation costs eight times as much (11 µs
 * against 1.4).
 */
interface Plan {
  readonly kind: number;
  readonly id: number;
  readonly size: number;
  readonly write: (out: Buffer, at: number) => void;
}

function planOf(message: Message): Plan {
  if (message.kind === "call") {
    const { id, text } = message;
    const reader = ("reader" in message ? message.reader : undefined) ?? WRITER;
    const write = (out: Buffer, at: number): void => void out.write(text, out.writeInt32LE(reader, at), "utf8");
    return { kind: CALL, id, size: 4 + Buffer.byteLength(text, "utf8"), write };
  }
  if (message.kind === "answer") {
    const { id, text } = message;
    const write = (out: Buffer, at: number): void => void out.write(text, at, "utf8");
    return { kind: ANSWER, id, size: Buffer.byteLength(text, "utf8"), write };
  }
  if (message.kind === "submit" && message.sender !== undefined && message.terms === undefined) {
    const { id, sender, raw } = message;
    const write = (out: Buffer, at: number): void => {
      out.set(sender, at);
      out.set(raw, at + SENDER_BYTES);
    };
    return { kind: SUBMIT, id, size: SENDER_BYTES + raw.length, write };
  }
  if (message.kind === "accepted") {
    const { id, hash } = message;
    return { kind: ACCEPTED, id, size: hash.length, write: (out, at) => out.set(hash, at) };
  }
  const bytes = serialize(message);
  return { kind: OTHER, id: 0, size: bytes.length, write: (out, at) => out.set(bytes, at) };
}

/** Encodes messages as bytes, one after the other. */
export function encodeFrames(messages: readonly Message[]): Buffer {
  const plans = messages.map(planOf);
  const out = Buffer.allocUnsafe(plans.reduce((sum, { size }) => sum + HEAD_BYTES + size, 0));
  let at = 0;
  for (const { kind, id, size, write } of plans) {
    out.writeUInt32LE(HEAD_BYTES - LENGTH_BYTES + size, at);
    out.writeUInt8(kind, at + 4);
    out.writeUInt32LE(id, at + 5);
    write(out, at + HEAD_BYTES);
    at += HEAD_BYTES + size;
  }
  return out;
}

function decodeFrame(bytes: Buffer, start: number, end: number): Message {
  const id = bytes.readUInt32LE(start + 1);
  const at = start + 5;
  switch (bytes[start]) {
    case CALL: {
      const reader = bytes.readInt32LE(at);
      const text = bytes.toString("utf8", at + 4, end);
      return { kind: "call", id, text, reader: reader === WRITER ? undefined : reader };
    }
    case ANSWER:
      return { kind: "answer", id, text: bytes.toString("utf8", at, end) };
    case SUBMIT: {
      const sender = copyOf(bytes, at, at + SENDER_BYTES);
      return { kind: "submit", id, sender, raw: copyOf(bytes, at + SENDER_BYTES, end), terms: undefined };
    }
    case ACCEPTED:
      return { kind: "accepted", id, hash: copyOf(bytes, at, end) };
    case OTHER:
      return deserialize(copyOf(bytes, at, end)) as Message; // copied, because the message may contain views of its bytes
    default:
      throw new Error(`a message of kind ${bytes[start]}, which this version does not know`);
  }
}

/** A copy, because a transaction outlives the buffer it arrived in. */
const copyOf = (bytes: Buffer, start: number, end: number): Uint8Array => new Uint8Array(bytes.subarray(start, end));

/** Extracts messages from a stream of bytes. */
export class FrameReader<M extends Message> {
  readonly #onMessage: (message: M) => void;
  /** the start of a frame that is still incomplete */
  #parts: Buffer[] = [];
  #size = 0;
  #needed = LENGTH_BYTES;

  constructor(onMessage: (message: M) => void) {
    this.#onMessage = onMessage;
  }

  /** @param part may be overwritten after the call. @throws Error the input is not a message; nothing more can be read afterwards */
  read(part: Buffer): void {
    this.#size += part.length;
    if (this.#size < this.#needed) {
      this.#parts.push(Buffer.from(part));
      return;
    }
    const bytes = this.#parts.length === 0 ? part : Buffer.concat([...this.#parts, part], this.#size);
    let at = 0;
    let needed = LENGTH_BYTES;
    while (at + LENGTH_BYTES <= bytes.length) {
      const end = at + LENGTH_BYTES + bytes.readUInt32LE(at);
      needed = end - at;
      if (end > bytes.length) break;
      this.#onMessage(decodeFrame(bytes, at + LENGTH_BYTES, end) as M);
      at = end;
      needed = LENGTH_BYTES;
    }
    this.#size = bytes.length - at;
    this.#needed = needed;
    this.#parts = this.#size === 0 ? [] : [Buffer.from(bytes.subarray(at))];
  }
}
