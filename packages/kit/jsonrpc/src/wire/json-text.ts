/**
 * A result that is already JSON, for handlers that store or concatenate it and need not serialise it again: text, or for a long one the bytes of
 * ASCII text, which are sent without being made a string.
 */
export class JsonText {
  readonly #json: string | Buffer;
  /** nobody else has the bytes, and they fill their whole ArrayBuffer: it can be handed to another thread */
  readonly isOwned: boolean;

  /**
   * @param json must be valid JSON: it is sent unchanged. Bytes must be ASCII, and stay as they are
   * @param isOwned whether bytes belong to this result alone
   */
  constructor(json: string | Buffer, isOwned = false) {
    this.#json = json;
    this.isOwned = isOwned && typeof json !== "string" && json.length === json.buffer.byteLength;
  }

  /** undefined: it is text */
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
