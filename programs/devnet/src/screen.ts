/** Scrolling lines, and below them one line that is updated in place. */
export class Screen {
  readonly isTty: boolean;
  #status = "";

  constructor(isTty: boolean) {
    this.isTty = isTty;
  }

  line(text: string): void {
    if (this.#status === "") {
      process.stdout.write(`${text}\n`);
      return;
    }
    process.stdout.write(`\r\x1b[K${text}\n${this.#status}`);
  }

  status(text: string): void {
    if (!this.isTty) {
      process.stdout.write(`${text}\n`);
      return;
    }
    const width = process.stdout.columns ?? 80;
    this.#status = text.length >= width ? `${text.slice(0, width - 2)}…` : text;
    process.stdout.write(`\r\x1b[K${this.#status}`);
  }

  endStatus(): void {
    if (this.#status !== "") process.stdout.write("\n");
    this.#status = "";
  }
}
