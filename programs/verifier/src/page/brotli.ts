import type { StreamDecoders } from "@rnode/compression/channel-decompressor";
import init, { BrotliDecStream, BrotliStreamResultCode } from "brotli-dec-wasm/web";
import wasmUrl from "brotli-dec-wasm/web/bg.wasm?url";

const OUTPUT_BYTES = 1 << 20;

/** Brotli in WebAssembly, as browsers decompress it only asynchronously, and not all of them. */
export async function loadBrotli(): Promise<StreamDecoders["brotli"]> {
  await init({ module_or_path: fetch(wasmUrl) });
  return decode;
}

function decode(data: Uint8Array, maxBytes: number): Uint8Array | "limit" | "corrupt" {
  const stream = new BrotliDecStream();
  const parts: Uint8Array[] = [];
  let size = 0;
  let input = data;
  try {
    for (;;) {
      const result = stream.dec(input, OUTPUT_BYTES);
      const { buf, code, input_offset: consumed } = result;
      parts.push(buf);
      size += buf.length;
      result.free();
      if (size > maxBytes) return "limit";
      if (code !== BrotliStreamResultCode.NeedsMoreOutput) return joined(parts, size);
      input = input.subarray(consumed);
    }
  } catch {
    return "corrupt";
  } finally {
    stream.free();
  }
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
