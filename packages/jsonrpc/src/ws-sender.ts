import type { WebSocket } from "ws";
import { SLICE_BYTES, type Unsent } from "./unsent.ts";

interface Message {
  readonly bytes: Buffer;
  readonly isNotification: boolean;
  /** how much of it was written */
  at: number;
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

  answer(text: string): void {
    this.#push(text, false);
  }

  notify(text: string): void {
    this.#push(text, true);
    if (this.#backlogBytes > this.#options.maxBacklogBytes) this.#options.unsent.drop("backlog");
  }

  /** Forgets what is not written yet. */
  clear(): void {
    this.#queue = [];
    this.#backlogBytes = 0;
  }

  #push(text: string, isNotification: boolean): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const bytes = Buffer.from(text, "utf8");
    this.#queue.push({ bytes, isNotification, at: 0 });
    if (isNotification) this.#backlogBytes += bytes.length;
    this.#options.unsent.add(bytes.length);
    this.#write();
  }

  #write(): void {
    while (this.#inFlightBytes < SLICE_BYTES) {
      const message = this.#queue[0];
      if (message === undefined || this.#socket.readyState !== this.#socket.OPEN) return;
      const { bytes, isNotification, at } = message;
      const slice = bytes.subarray(at, at + SLICE_BYTES);
      message.at += slice.length;
      const isLast = message.at === bytes.length;
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
