import type { Stream } from "@libp2p/interface";

/** The used part of a stream. */
export interface WireStream {
  /** aborted when the stream ends, from either side */
  readonly gone: AbortSignal;
  /**
   * Passes received data on until the peer's end, or until `onData` returns false.
   *
   * @throws {StreamEnded} errors of `onData`
   */
  read(onData: (chunk: Uint8Array) => boolean, signal: AbortSignal): Promise<void>;
  /** Waits until the stream has taken everything. @throws {StreamEnded} */
  write(bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /** We have sent everything. @throws {StreamEnded} */
  closeWrite(signal: AbortSignal): Promise<void>;
  /** Ends the stream in both directions, whatever is under way. */
  reset(reason: string): void;
}

/** The stream was reset, or the time is over. */
export class StreamEnded extends Error {}

/** Maximum size of a write, so a peer that does not read holds little memory. */
const PIECE_BYTES = 64 * 1024;

export class Libp2pStream implements WireStream {
  private readonly stream: Stream;
  private readonly ended = new AbortController();

  constructor(stream: Stream) {
    this.stream = stream;
    if (stream.status !== "open" && stream.status !== "closing") this.ended.abort();
    stream.addEventListener("close", () => this.ended.abort(), { once: true });
  }

  get gone(): AbortSignal {
    return this.ended.signal;
  }

  /** By events, so no data is buffered beyond `onData`. */
  read(onData: (chunk: Uint8Array) => boolean, signal: AbortSignal): Promise<void> {
    const { stream } = this;
    return new Promise((resolve, reject) => {
      // The end can come before the last bytes, because data read during the negotiation is put back afterwards.
      const isOver = (): boolean => stream.readableEnded && stream.readBufferLength === 0;
      const stop = (): void => {
        stream.removeEventListener("message", onMessage);
        stream.removeEventListener("end", onEnd);
        stream.removeEventListener("close", onClose);
        signal.removeEventListener("abort", onAbort);
      };
      const onMessage = ({ data }: { data: Uint8Array | { subarray(): Uint8Array } }): void => {
        try {
          if (onData(data.subarray()) && !isOver()) return;
          stop();
          resolve();
        } catch (error) {
          stop();
          reject(error);
        }
      };
      const onEnd = (): void => {
        stop();
        resolve();
      };
      const onClose = ({ error }: { error?: Error | undefined }): void => {
        if (error === undefined && stream.readBufferLength > 0) return; // "end" follows
        stop();
        if (error === undefined) resolve();
        else reject(new StreamEnded("the stream was reset", { cause: error }));
      };
      const onAbort = (): void => {
        stop();
        reject(new StreamEnded("the time is over"));
      };
      if (signal.aborted) return onAbort();
      if (isOver()) return resolve();
      signal.addEventListener("abort", onAbort, { once: true });
      stream.addEventListener("end", onEnd);
      stream.addEventListener("close", onClose);
      // last: from now on received data is passed on
      stream.addEventListener("message", onMessage);
    });
  }

  async write(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    try {
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
        if (signal.aborted) throw new StreamEnded("the time is over");
        if (!this.stream.send(bytes.subarray(at, at + PIECE_BYTES))) await this.stream.onDrain({ signal });
      }
    } catch (error) {
      throw ended(error);
    }
  }

  async closeWrite(signal: AbortSignal): Promise<void> {
    try {
      await this.stream.close({ signal });
    } catch (error) {
      throw ended(error);
    }
  }

  reset(reason: string): void {
    this.stream.abort(new StreamEnded(reason));
  }
}

const ended = (error: unknown): StreamEnded =>
  error instanceof StreamEnded ? error : new StreamEnded("the stream was reset", { cause: error });
