import { setImmediate } from "node:timers/promises";
import { JsonText, LIMIT_EXCEEDED, RpcError } from "@rnode/jsonrpc";
import type { PooledTransaction, SenderContent } from "@rnode/txpool";

export interface ContentLimits {
  /** of the whole text, in characters; beyond it there is no answer */
  readonly maxLength: number;
  /** how long to work without a break */
  readonly sliceMs: number;
}

const DEFAULT_LIMITS: ContentLimits = { maxLength: 64 * 1024 * 1024, sliceMs: 2 };

/**
 * Writes all that is in the pool as JSON: by sender, then by nonce. It is made in slices, because a pool can have tens of megabytes and the
 * process that answers makes blocks; and once for all who ask while another text is made.
 */
export class PoolContentText {
  readonly #show: (pooled: PooledTransaction) => string;
  readonly #addressText: (address: Uint8Array) => string;
  readonly #limits: ContentLimits;
  #running: Promise<unknown> | undefined;
  #next: Promise<JsonText> | undefined;

  /** @param show a transaction as JSON text */
  constructor(
    addressText: (address: Uint8Array) => string,
    show: (pooled: PooledTransaction) => string,
    limits: Partial<ContentLimits> = {},
  ) {
    this.#addressText = addressText;
    this.#show = show;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  /** The content of the pool, read now or a moment later. @throws {RpcError} it is too large for one answer */
  of(content: () => Iterable<SenderContent>): Promise<JsonText> {
    this.#next ??= this.#afterRunning(content);
    return this.#next;
  }

  async #afterRunning(content: () => Iterable<SenderContent>): Promise<JsonText> {
    await this.#running;
    this.#next = undefined;
    const making = this.#make([...content()]);
    this.#running = making.catch(() => {});
    return making;
  }

  async #make(content: readonly SenderContent[]): Promise<JsonText> {
    const { maxLength, sliceMs } = this.#limits;
    const lists = { pending: [] as string[], queued: [] as string[] };
    let length = 0;
    let sliceEndMs = performance.now() + sliceMs;
    for (const of of content) {
      for (const kind of ["pending", "queued"] as const) {
        const texts: string[] = [];
        for (const pooled of of[kind]) {
          const text = `"${pooled.transaction.nonce}":${this.#show(pooled)}`;
          texts.push(text);
          length += text.length + 1;
          if (length > maxLength) throw tooMuch(maxLength);
          if (performance.now() < sliceEndMs) continue;
          await setImmediate();
          sliceEndMs = performance.now() + sliceMs;
        }
        if (texts.length > 0) lists[kind].push(`"${this.#addressText(of.sender)}":{${texts.join(",")}}`);
      }
    }
    return new JsonText(`{"pending":{${lists.pending.join(",")}},"queued":{${lists.queued.join(",")}}}`);
  }
}

const tooMuch = (maxLength: number): RpcError =>
  new RpcError(
    LIMIT_EXCEEDED,
    `the pool's content is longer than ${Math.floor(maxLength / 2 ** 20)} MiB: ask for one sender (txpool_contentFrom)`,
  );
