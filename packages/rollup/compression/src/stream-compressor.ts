import { constants, createBrotliCompress, createDeflate } from "node:zlib";
import { CHANNEL_VERSION_BROTLI } from "@rnode/protocol";

export const COMPRESSION_ALGORITHMS = ["zlib", "brotli-9", "brotli-10", "brotli-11"] as const;
export type CompressionAlgorithm = (typeof COMPRESSION_ALGORITHMS)[number];

/** The most that closing a flushed zlib stream adds: an empty final block and the checksum. */
export const CLOSE_OVERHEAD_BYTES = 9;

const ZLIB_LEVEL = 9;
/** The stream must not block on unread output. */
const NO_BACKPRESSURE = 2 ** 30;

/**
 * A compressed channel as it grows. Output comes in the order of writing and never changes; brotli channels begin with their
 * version byte.
 */
export class StreamCompressor {
  readonly #stream: ReturnType<typeof createDeflate> | ReturnType<typeof createBrotliCompress>;
  readonly #flushKind: number;
  #chunks: Uint8Array[] = [];
  #length = 0;
  #failure: Error | undefined;

  /** @param level "none" stores without compressing (zlib only) */
  constructor(algorithm: CompressionAlgorithm, level: "best" | "none" = "best") {
    const options = { readableHighWaterMark: NO_BACKPRESSURE };
    if (algorithm === "zlib") {
      this.#stream = createDeflate({ ...options, level: level === "none" ? constants.Z_NO_COMPRESSION : ZLIB_LEVEL });
      this.#flushKind = constants.Z_SYNC_FLUSH;
    } else {
      const quality = Number(algorithm.slice("brotli-".length));
      this.#stream = createBrotliCompress({ ...options, params: { [constants.BROTLI_PARAM_QUALITY]: quality } });
      this.#flushKind = constants.BROTLI_OPERATION_FLUSH;
      this.#collect(Uint8Array.of(CHANNEL_VERSION_BROTLI));
    }
    this.#stream.on("error", (error) => {
      this.#failure = error;
    });
  }

  /** Bytes of output that are available and have not been taken. */
  get length(): number {
    return this.#length;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#after((done) => this.#stream.write(bytes, done));
  }

  /** Makes everything written so far available as output. */
  flush(): Promise<void> {
    return this.#after((done) => this.#stream.flush(this.#flushKind, () => done()));
  }

  /** Ends the stream: nothing can be written after it. */
  close(): Promise<void> {
    // `end` calls back when everything has been written; the output is emitted until the stream ends.
    return this.#after((done) => {
      this.#stream.once("end", () => done());
      this.#stream.end();
      this.#stream.on("readable", () => this.#drain());
    });
  }

  /** Removes the first `length` bytes of the output. */
  take(length: number): Uint8Array {
    const all = Buffer.concat(this.#chunks);
    const taken = new Uint8Array(all.subarray(0, length));
    this.#chunks = [new Uint8Array(all.subarray(length))];
    this.#length -= taken.length;
    return taken;
  }

  /** Frees the compressor's resources. */
  destroy(): void {
    this.#stream.destroy();
  }

  #after(start: (done: (error?: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      start((error) => {
        this.#drain();
        const failure = error ?? this.#failure;
        if (failure) reject(failure);
        else resolve();
      });
    });
  }

  #drain(): void {
    for (let chunk = this.#stream.read() as Buffer | null; chunk !== null; chunk = this.#stream.read() as Buffer | null) {
      this.#collect(new Uint8Array(chunk));
    }
  }

  #collect(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#length += bytes.length;
  }
}

/** Compresses and closes a whole channel at once. */
export async function compressChannel(algorithm: CompressionAlgorithm, bytes: Uint8Array): Promise<Uint8Array> {
  const compressor = new StreamCompressor(algorithm);
  await compressor.write(bytes);
  await compressor.close();
  return compressor.take(compressor.length);
}
