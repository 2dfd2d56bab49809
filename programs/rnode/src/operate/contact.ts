import { type RpcClient, RpcTransportError } from "@rnode/jsonrpc";
import { errorText, type LogFields, type Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";

/** Requests fail now and then: only what lasts is worth a word. */
const MIN_SILENCE_MS = 5_000;

export interface ContactDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Whether a program that this node needs answers, and since when it has not. A refusal is an answer, too. */
export class Contact {
  private readonly name: string;
  private readonly deps: ContactDeps;
  private silent: { readonly sinceMs: number; readonly reason: string } | undefined;

  /** @param name as in the log: `L1`, `execution client` */
  constructor(name: string, deps: ContactDeps) {
    this.name = name;
    this.deps = deps;
  }

  answered(): void {
    if (this.silent === undefined) return;
    const silentMs = this.deps.clock.monotonicMs() - this.silent.sinceMs;
    this.silent = undefined;
    if (silentMs >= MIN_SILENCE_MS) this.deps.log.info(`${this.name} answers again`, { afterSec: Math.round(silentMs / 1000) });
  }

  failed(reason: string): void {
    this.silent ??= { sinceMs: this.deps.clock.monotonicMs(), reason };
  }

  /** Since when there is no answer, and why; undefined: there are answers. */
  get silence(): LogFields | undefined {
    if (this.silent === undefined) return undefined;
    const { sinceMs, reason } = this.silent;
    const silentMs = this.deps.clock.monotonicMs() - sinceMs;
    if (silentMs < MIN_SILENCE_MS) return undefined;
    return { since: new Date(sinceMs).toISOString(), forSec: Math.round(silentMs / 1000), reason };
  }

  /** The same client. What becomes of its requests is noted here, and each is logged at the level `detail`. */
  watch(rpc: RpcClient): RpcClient {
    const { log } = this.deps;
    const noted = async <T>(fields: LogFields, asked: () => Promise<T>): Promise<T> => {
      const startMs = performance.now();
      const told = (outcome: LogFields): void => {
        if (!log.isEnabled("trace")) return;
        log.trace(`request to ${this.name}`, { ...fields, ...outcome, ms: Number((performance.now() - startMs).toFixed(1)) });
      };
      try {
        const answer = await asked();
        this.answered();
        told({});
        return answer;
      } catch (error) {
        if (!(error instanceof RpcTransportError)) this.answered();
        else if (error.code !== "rpc/closed") this.failed(error.message);
        told({ failure: errorText(error) });
        throw error;
      }
    };
    const { endpoint } = rpc;
    return {
      endpoint,
      get connectionsLost() {
        return rpc.connectionsLost;
      },
      call: (method, params, options) => noted({ endpoint, method }, () => rpc.call(method, params, options)),
      batch: (calls, options) =>
        noted({ endpoint, method: calls[0]?.method, calls: calls.length }, () => rpc.batch(calls, options)),
      ...(rpc.subscribe !== undefined && { subscribe: (params, listener) => rpc.subscribe!(params, listener) }),
      close: () => rpc.close(),
    };
  }
}
