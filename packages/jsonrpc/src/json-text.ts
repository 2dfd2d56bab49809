/** A result that is already JSON text, for handlers that store or concatenate texts and need not serialise them again. */
export class JsonText {
  readonly text: string;

  /** @param text must be valid JSON: it is sent unchanged */
  constructor(text: string) {
    this.text = text;
  }

  /** For serialisation as part of a larger value. */
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}
