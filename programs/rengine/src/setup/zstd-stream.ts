import { UserError } from "@rnode/program";
import { Decompress } from "fzstd";
import { frameHeader } from "./zstd.ts";

/** Of the memory that a frame takes; `zstd --long` takes as much. */
export const MAX_WINDOW_BYTES = 128 << 20;
/** Of the header of a frame. */
const MAX_HEADER_BYTES = 18;
/** The fields of the library's decompressor, whose version is exact: frame, input that was not used, its size, and what is missing of a block. */
const FIELDS = ["s", "c", "l", "z"] as const;

/** Decompresses Zstandard data of any size as it comes. Its state is plain data: another process can go on from there. */
export class ZstdStream {
  readonly #source: string;
  readonly #decompress: Decompress;
  /** whether the first frame's header was seen */
  #hasBegun: boolean;

  /** @param source for errors @param state of an earlier one */
  constructor(source: string, onBytes: (bytes: Uint8Array) => void, state?: unknown) {
    this.#source = source;
    this.#hasBegun = state !== undefined;
    this.#decompress = new Decompress((bytes) => {
      if (bytes.length > 0) onBytes(bytes);
    });
    for (const [index, value] of ((state as readonly unknown[] | undefined) ?? []).entries())
      Reflect.set(this.#decompress, FIELDS[index]!, value);
  }

  get state(): unknown {
    return FIELDS.map((field) => Reflect.get(this.#decompress, field) as unknown);
  }

  /** @throws {UserError}, and what `onBytes` throws */
  push(bytes: Uint8Array, isLast: boolean): void {
    if (!this.#hasBegun && bytes.length >= MAX_HEADER_BYTES) {
      this.#hasBegun = true;
      const { windowBytes } = frameHeader(this.#source, bytes);
      if (windowBytes > MAX_WINDOW_BYTES) {
        throw new UserError(
          `${this.#source}: Zstandard data with a window of ${windowBytes} bytes, at most ${MAX_WINDOW_BYTES}: decompress it with zstd -d`,
        );
      }
    }
    try {
      this.#decompress.push(bytes, isLast);
    } catch (cause) {
      // The library's errors have a number; damaged data may also lead it beyond its tables.
      const isOwn =
        typeof (cause as { readonly code?: unknown }).code === "number" ||
        cause instanceof TypeError ||
        cause instanceof RangeError;
      if (!isOwn) throw cause;
      throw new UserError(`${this.#source}: broken Zstandard data`, { cause });
    }
  }
}
