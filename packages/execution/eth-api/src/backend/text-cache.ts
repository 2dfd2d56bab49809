import type { JsonText } from "@rnode/jsonrpc";

/** overhead of an entry, without its characters */
const BYTES_PER_ENTRY = 200;

/** Number of keys with one request that are remembered. */
const MAX_ASKED_ONCE = 1024;

/**
 * An LRU cache of answers, bounded by bytes. An answer is stored at its second request: storing an answer that is never used
 * again costs more than computing it, because of the garbage collector.
 */
export class TextCache {
  readonly #maxBytes: number;
  readonly #texts = new Map<string, JsonText>();
  readonly #askedOnce = new Set<string>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(key: string): JsonText | undefined {
    const text = this.#texts.get(key);
    if (text === undefined) return undefined;
    this.#texts.delete(key);
    this.#texts.set(key, text);
    return text;
  }

  set(key: string, text: JsonText): void {
    if (!this.#askedOnce.delete(key)) {
      this.#askedOnce.add(key);
      for (const oldest of this.#askedOnce) {
        if (this.#askedOnce.size <= MAX_ASKED_ONCE) return;
        this.#askedOnce.delete(oldest);
      }
      return;
    }
    if (sizeOf(text) > this.#maxBytes / 4 || this.#texts.has(key)) return;
    this.#texts.set(key, text);
    this.#bytes += sizeOf(text);
    for (const [oldest, given] of this.#texts) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#texts.delete(oldest);
      this.#bytes -= sizeOf(given);
    }
  }
}

const sizeOf = (json: JsonText): number => (json.bytes?.length ?? json.text.length) + BYTES_PER_ENTRY;
