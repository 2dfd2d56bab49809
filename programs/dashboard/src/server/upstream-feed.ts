import { get, type IncomingMessage } from "node:http";
import type { DownMessage, FeedUpdate, ProgramKind, ProgramMessage } from "../messages.ts";
import type { Viewer } from "./dashboard-server.ts";

export interface Upstream {
  readonly id: string;
  readonly name: string;
  readonly kind: ProgramKind;
  /** undefined: the program has no dashboard; only its status is shown */
  readonly url: string | undefined;
  /** why the program is down on purpose; undefined: it should run */
  readonly downBecause: () => string | undefined;
}

const RETRY_MS = 1_000;
/** One event of a program; more means that it is none of ours. */
const MAX_EVENT_LENGTH = 16 * 1024 * 1024;

/** Passes one program's feed on to a viewer, under the name that the program has here, and says when the program does not answer. */
export class UpstreamFeed {
  readonly #upstream: Upstream;
  readonly #viewer: Viewer;
  #timer: NodeJS.Timeout | undefined;
  #response: IncomingMessage | undefined;
  #request: ReturnType<typeof get> | undefined;
  #isClosed = false;

  constructor(upstream: Upstream, viewer: Viewer) {
    this.#upstream = upstream;
    this.#viewer = viewer;
    const { id, name, kind } = upstream;
    const expected: DownMessage = { id, name, kind, reasons: [] };
    viewer.send("expected", JSON.stringify(expected));
    this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#request?.destroy();
    this.#response?.destroy();
  }

  #connect(): void {
    const { url, id, name, kind, downBecause } = this.#upstream;
    const known = downBecause();
    if (url === undefined) {
      if (known === undefined) {
        const program: ProgramMessage = { id, name, kind, version: "", startedMs: 0 };
        this.#viewer.send("program", JSON.stringify(program));
      } else this.#down(known);
      this.#later();
      return;
    }
    let isOver = false;
    const over = (error?: Error): void => {
      if (isOver || this.#isClosed) return;
      isOver = true;
      this.#down(downBecause() ?? (error === undefined ? "it closed the connection" : `it does not answer: ${error.message}`));
      this.#later();
    };
    this.#request = get(`${url}feed`, (response) => {
      this.#response = response;
      response.setEncoding("utf8");
      let text = "";
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > MAX_EVENT_LENGTH) {
          response.destroy();
          return;
        }
        const events = text.split("\n\n");
        text = events.pop() ?? "";
        for (const event of events) this.#pass(event);
      });
      response.once("close", () => over());
    });
    this.#request.once("error", over);
  }

  #pass(text: string): void {
    const [, event, json] = /^event: (\w+)\ndata: (.*)$/.exec(text) ?? [];
    if (json === undefined) return;
    const { id, name, kind } = this.#upstream;
    const message = JSON.parse(json) as ProgramMessage | FeedUpdate;
    this.#viewer.send(event!, JSON.stringify(event === "program" ? { ...message, id, name, kind } : { ...message, id }));
  }

  #down(reason: string): void {
    const { id, name, kind } = this.#upstream;
    const message: DownMessage = { id, name, kind, reasons: [reason] };
    this.#viewer.send("down", JSON.stringify(message));
  }

  #later(): void {
    this.#timer = setTimeout(() => this.#connect(), RETRY_MS);
  }
}
