import { brotliDecompressSync } from "node:zlib";
import { type Abortable, Backoff, type Clock, TokenBucket } from "@rnode/primitives";
import { MAX_FLASHBLOCK_CHARACTERS } from "@rnode/protocol";
import { WebSocket } from "ws";
import { RESUME_HEADER } from "./stream-server.ts";

export interface StreamSourceEvents {
  /** The text of a message, or undefined for one that cannot be decompressed or is too large. */
  onMessage(text: string | undefined): void;
  onUp(): void;
  /** The connection was lost or could not be opened. @param failures in a row */
  onDown(reason: string, failures: number): void;
}

const BACKOFF = { firstMs: 100, maxMs: 5_000 };
const HANDSHAKE_LIMIT_MS = 5_000;
const PING_INTERVAL_MS = 5_000;
/** A message costs its bytes and this much; a source that sends more than the rate is read more slowly. */
const MESSAGE_COST_BYTES = 16 * 1024;
const RATE = { perSec: 8 * 1024 * 1024, burst: 64 * 1024 * 1024 };

/** One source of a stream, connected until it is closed. */
export class StreamSource {
  readonly url: string;
  readonly #events: StreamSourceEvents;
  readonly #clock: Clock;
  readonly #backoff = new Backoff(BACKOFF);
  readonly #bucket: TokenBucket;
  readonly #stop = new AbortController();
  #socket: WebSocket | undefined;

  constructor(url: string, events: StreamSourceEvents, clock: Clock) {
    this.url = url;
    this.#events = events;
    this.#clock = clock;
    this.#bucket = new TokenBucket(RATE, clock);
    void this.#run(this.#stop.signal);
  }

  close(): void {
    this.#stop.abort();
    this.#socket?.terminate();
  }

  async #run(signal: Abortable): Promise<void> {
    while (!signal.aborted) {
      const reason = await this.#connection();
      if (signal.aborted) return;
      const pauseMs = this.#backoff.nextMs();
      this.#events.onDown(reason, this.#backoff.failures);
      await this.#clock.sleep(pauseMs, signal);
    }
  }

  /** @returns why it ended */
  #connection(): Promise<string> {
    const socket = new WebSocket(this.url, {
      handshakeTimeout: HANDSHAKE_LIMIT_MS,
      maxPayload: MAX_FLASHBLOCK_CHARACTERS,
      perMessageDeflate: false,
      headers: { [RESUME_HEADER]: "1" },
    });
    this.#socket = socket;
    let reason: string | undefined;
    let isSilent = false;
    const pings = setInterval(() => {
      if (socket.readyState !== WebSocket.OPEN) return;
      if (isSilent) {
        reason = "no sign of life";
        socket.terminate();
        return;
      }
      isSilent = true;
      socket.ping();
    }, PING_INTERVAL_MS);
    const hasLife = (): void => {
      isSilent = false;
    };
    socket.on("open", () => this.#events.onUp());
    socket.on("pong", hasLife);
    socket.on("error", (error) => {
      reason ??= error.message;
    });
    socket.on("message", (data: Buffer) => {
      hasLife();
      this.#backoff.reset();
      this.#slowDown(socket, data.length);
      this.#events.onMessage(textOf(data));
    });
    return new Promise((resolve) => {
      socket.on("close", (code) => {
        clearInterval(pings);
        resolve(reason ?? `closed with code ${code}`);
      });
    });
  }

  /** Stops reading until the source is within its rate again; what it sends meanwhile stays in the network. */
  #slowDown(socket: WebSocket, bytes: number): void {
    this.#bucket.spend(bytes + MESSAGE_COST_BYTES);
    const debtMs = this.#bucket.msOfDebt;
    if (debtMs === 0 || socket.isPaused) return;
    socket.pause();
    void this.#clock.sleep(debtMs, this.#stop.signal).then(() => socket.resume());
  }
}

const OPENING_BRACE = 0x7b;
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** The text of a plain or compressed message. */
function textOf(data: Buffer): string | undefined {
  let at = 0;
  while (SPACES.has(data[at]!)) at++;
  if (data[at] === OPENING_BRACE) return data.toString("utf8");
  try {
    return brotliDecompressSync(data, { maxOutputLength: MAX_FLASHBLOCK_CHARACTERS }).toString("utf8");
  } catch {
    return undefined;
  }
}
