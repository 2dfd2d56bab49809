/** of an entry, beside its characters */
const BYTES_PER_ENTRY = 200;

/** Answers by what they are about, the least recently used given up first; bounded by their bytes. */
export class TextCache {
  readonly #maxBytes: number;
  readonly #texts = new Map<string, string>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(key: string): string | undefined {
    const text = this.#texts.get(key);
    if (text === undefined) return undefined;
    this.#texts.delete(key);
    this.#texts.set(key, text);
    return text;
  }

  /** @param text of characters that take one byte each */
  set(key: string, text: string): void {
    if (text.length > this.#maxBytes / 4 || this.#texts.has(key)) return;
    this.#texts.set(key, text);
    this.#bytes += text.length + BYTES_PER_ENTRY;
    for (const [oldest, { length }] of this.#texts) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#texts.delete(oldest);
      this.#bytes -= length + BYTES_PER_ENTRY;
    }
  }
}
