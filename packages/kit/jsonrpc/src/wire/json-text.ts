/**
 * A result that is already JSON, so it is not serialised again: text, or for a long one ASCII bytes, which are sent without a
 * string.
 */
export class JsonText {
  readonly #json: string | Buffer;
  /** the bytes have no other owner and fill their whole ArrayBuffer, so they can be transferred to another thread */
  readonly isOwned: boolean;

  /**
   * @param json must be valid JSON: it is sent unchanged. Bytes must be ASCII, and stay as they are
   * @param isOwned whether bytes belong to this result alone
   */
  constructor(json: string | Buffer, isOwned = false) {
    this.#json = json;
    this.isOwned = isOwned && typeof json !== "string" && json.length === json.buffer.byteLength;
  }

  /** `undefined`: it is text */
  get bytes(): Buffer | undefined {
    return typeof this.#json === "string" ? undefined : this.#json;
  }

  get text(): string {
    return typeof this.#json === "string" ? this.#json : this.#json.toString("latin1");
  }

  /** For serialisation as part of a larger value. */
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}
