import type { Chain } from "@rnode/chain";
import type { MethodTable } from "@rnode/jsonrpc";
import type { LogFields } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { TransactionPool } from "@rnode/txpool";

export interface ClientStatusDependencies {
  readonly chain: Pick<Chain, "headerOf">;
  readonly pool: Pick<TransactionPool, "counts">;
  readonly clock: Clock;
  /** number of reader processes that serve requests; undefined: readers are off */
  readonly servingReaders: () => number | undefined;
}

/** A rollup node is heard from at least once per block, and at every new L1 head. */
const SILENCE_LIMIT_MS = 60_000;

/** What an operator wants to know of a running client. */
export class ClientStatus {
  readonly #dependencies: ClientStatusDependencies;
  #lastEngineRequestMs: number | undefined;

  constructor(dependencies: ClientStatusDependencies) {
    this.#dependencies = dependencies;
  }

  /** The same methods of the Engine API; each request to them is a sign that there is a rollup node. */
  listeningTo(methods: MethodTable): MethodTable {
    return Object.fromEntries(
      Object.entries(methods).map(([name, method]) => [
        name,
        {
          ...method,
          handler: (args, context) => {
            this.#lastEngineRequestMs = this.#dependencies.clock.monotonicMs();
            return method.handler(args, context);
          },
        },
      ]),
    );
  }

  fields(): LogFields {
    const { chain, pool, clock, servingReaders } = this.#dependencies;
    const nowSec = Math.floor(clock.unixMs() / 1000);
    const numberOf = (tag: "safe" | "finalized"): number | undefined => chain.headerOf({ kind: "tag", tag })?.header.number;
    const head = chain.headerOf({ kind: "tag", tag: "latest" })?.header;
    const { pending, queued } = pool.counts();
    const [waitingFor] = this.faults;
    return {
      head: head?.number,
      headAgeSec: head === undefined ? undefined : Math.max(0, nowSec - head.timestamp),
      safe: numberOf("safe"),
      finalized: numberOf("finalized"),
      pending,
      queued,
      readers: servingReaders(),
      ...(waitingFor === undefined ? {} : { waitingFor }),
    };
  }

  /** What the client waits for; empty while a rollup node drives it. */
  get faults(): readonly string[] {
    if (this.#lastEngineRequestMs === undefined) return ["the rollup node, which has not used the Engine API yet"];
    const silentMs = this.#dependencies.clock.monotonicMs() - this.#lastEngineRequestMs;
    if (silentMs < SILENCE_LIMIT_MS) return [];
    return [`the rollup node, which last used the Engine API ${Math.floor(silentMs / 1000)} s ago`];
  }
}
