import type { WebSocket } from "ws";
import type { Answer } from "../wire/answer-bytes.ts";
import { SLICE_BYTES, type Unsent } from "../wire/unsent.ts";

interface Message {
  /** the unwritten rest */
  readonly pieces: Buffer[];
  readonly isNotification: boolean;
}

export interface WsSenderOptions {
  readonly unsent: Unsent;
  /** notifications that wait; beyond this, their consumer is too slow */
  readonly maxBacklogBytes: number;
  /** some of what waited was taken */
  readonly onProgress: () => void;
}

/** Sends the messages of one WebSocket in order and at the pace of its client, long ones in fragments. */
export class WsSender {
  readonly #socket: WebSocket;
  readonly #options: WsSenderOptions;
  #queue: Message[] = [];
  /** written, and not yet taken by the kernel */
  #inFlightBytes = 0;
  #backlogBytes = 0;

  constructor(socket: WebSocket, options: WsSenderOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  answer(answer: NonNullable<Answer>): void {
    this.#push(typeof answer === "string" ? [Buffer.from(answer, "utf8")] : [...answer.pieces], false);
  }

  notify(text: string): void {
    this.#push([Buffer.from(text, "utf8")], true);
    if (this.#backlogBytes > this.#options.maxBacklogBytes) this.#options.unsent.drop("backlog");
  }

  /** Drops all unwritten data. */
  clear(): void {
    this.#queue = [];
    this.#backlogBytes = 0;
  }

  #push(pieces: Buffer[], isNotification: boolean): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const byteLength = pieces.reduce((sum, { length }) => sum + length, 0);
    this.#queue.push({ pieces, isNotification });
    if (isNotification) this.#backlogBytes += byteLength;
    this.#options.unsent.add(byteLength);
    this.#write();
  }

  #write(): void {
    while (this.#inFlightBytes < SLICE_BYTES) {
      const message = this.#queue[0];
      if (message === undefined || this.#socket.readyState !== this.#socket.OPEN) return;
      const { pieces, isNotification } = message;
      const piece = pieces[0]!;
      const slice = piece.subarray(0, SLICE_BYTES);
      if (slice.length < piece.length) pieces[0] = piece.subarray(slice.length);
      else pieces.shift();
      const isLast = pieces.length === 0;
      if (isLast) this.#queue.shift();
      this.#inFlightBytes += slice.length;
      this.#socket.send(slice, { binary: false, fin: isLast }, (error) => {
        if (error) {
          this.#socket.terminate();
          return;
        }
        this.#inFlightBytes -= slice.length;
        if (isNotification) this.#backlogBytes = Math.max(0, this.#backlogBytes - slice.length);
        this.#options.unsent.sent(slice.length);
        this.#write();
        this.#options.onProgress();
      });
    }
  }
}
