/** A result that is JSON already: a handler that keeps or joins texts spares building them again. */
export class JsonText {
  readonly text: string;

  /** @param text must be valid JSON: it is sent as it is */
  constructor(text: string) {
    this.text = text;
  }

  /** For whoever stringifies it as a part of something else. */
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}
