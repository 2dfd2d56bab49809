import type { RequestContext } from "../wire/method-table.ts";

/** Of a request: the newest block that its client has seen. It is not answered before the server has that block. */
export const MIN_BLOCK = "rnode-min-block";
/** Of the answer to such a request: number of the newest block that the answer can be about. */
export const HEAD_BLOCK = "rnode-head-block";

/** The server's chain. */
export interface ServedHead {
  /** number of the newest block, in what the next read sees */
  number(): number;
  /** @returns stops listening */
  onChange(listener: () => void): () => void;
}

/** A server that is a little behind has the block within this time; one that is further behind leaves the request to others. */
const WAIT_MS = 300;
/** of requests that wait */
const MAX_WAITING = 2000;

/** Keeps requests waiting until the server has the block that their clients have seen. docs/decisions/min-block.md */
export class MinBlockGate {
  readonly #head: ServedHead;
  readonly #waiting = new Set<{ readonly minBlock: number; readonly leave: (isThere: boolean) => void }>();
  #stop: (() => void) | undefined;

  constructor(head: ServedHead) {
    this.#head = head;
  }

  /** for the answer: not lower than at any read that it was made of */
  get head(): number {
    return this.#head.number();
  }

  /** @returns whether the block is there; a promise if that takes a moment to say */
  pass(minBlock: number, client: RequestContext): boolean | Promise<boolean> {
    if (this.#head.number() >= minBlock) return true;
    if (this.#waiting.size >= MAX_WAITING || client.isGone) return false;
    this.#stop ??= this.#head.onChange(() => this.#admit());
    return new Promise((resolve) => {
      const waiting = {
        minBlock,
        leave: (isThere: boolean): void => {
          clearTimeout(timer);
          forget();
          this.#waiting.delete(waiting);
          resolve(isThere);
        },
      };
      const timer = setTimeout(() => waiting.leave(false), WAIT_MS);
      const forget = client.onGone(() => waiting.leave(false));
      this.#waiting.add(waiting);
    });
  }

  close(): void {
    this.#stop?.();
    for (const { leave } of this.#waiting) leave(false);
  }

  #admit(): void {
    if (this.#waiting.size === 0) return;
    const head = this.#head.number();
    for (const { minBlock, leave } of this.#waiting) if (head >= minBlock) leave(true);
  }
}

/** The number in the header, which may be 0; `undefined`: it is none. */
export const readMinBlock = (text: string): number | undefined => (/^\d{1,15}$/.test(text) ? Number(text) : undefined);

/** The answer for the balancer, which asks another server. */
export const notHereText = (minBlock: number, head: number): string =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: null,
    error: { code: -32000, message: `block ${minBlock} is not here yet: the head is block ${head}; ask another node, or again` },
  });
