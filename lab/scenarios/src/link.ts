import { RpcError, type RpcOutcome, RpcTransportError } from "@rnode/jsonrpc";
import type { SimClock, SimProcess } from "@rnode/program/testing";
import type { Random } from "./random.ts";

/** Faults of a server or the link to it, which scenarios switch on and off. */
export interface ServerState {
  /** refuses connections */
  isDown: boolean;
  /** takes requests and never answers */
  stalls: boolean;
  /** probability that a request fails with an error of the server */
  failureRate: number;
  /** probability that the answer is lost although the request had its effect */
  lossRate: number;
  maxLatencyMs: number;
  /** number of blocks that it is behind, if it is an L1 server */
  lagBlocks: number;
  /** replaces an answer; `undefined`: the server is honest */
  lie: ((method: string, answer: unknown) => unknown) | undefined;
}

export const healthyServer = (maxLatencyMs = 0): ServerState => ({
  isDown: false,
  stalls: false,
  failureRate: 0,
  lossRate: 0,
  maxLatencyMs,
  lagBlocks: 0,
  lie: undefined,
});

export interface LinkDeps {
  readonly name: string;
  readonly process: SimProcess;
  readonly clock: SimClock;
  readonly random: Random;
  readonly state: ServerState;
  readonly timeoutMs: number;
  /** @returns the answer; a promise of it only without batches and false answers */
  readonly handle: (method: string, params: readonly unknown[]) => unknown;
}

interface Call {
  readonly method: string;
  readonly params?: readonly unknown[] | undefined;
}

/** A connection of a process to a server: the interface of the JSON-RPC client, with a simulated network in between. */
export class Link {
  readonly endpoint: string;
  connectionsLost = 0;
  readonly #deps: LinkDeps;

  constructor(deps: LinkDeps) {
    this.endpoint = deps.name;
    this.#deps = deps;
  }

  call<T = unknown>(method: string, params: readonly unknown[] = []): Promise<T> {
    return this.#deps.process.wait(this.#exchange(() => this.#answer(method, params))) as Promise<T>;
  }

  batch(calls: readonly Call[]): Promise<RpcOutcome[]> {
    return this.#deps.process.wait(
      this.#exchange(() =>
        calls.map(({ method, params = [] }): RpcOutcome => {
          try {
            return { kind: "result", result: this.#answer(method, params) };
          } catch (error) {
            if (error instanceof RpcError) return { kind: "error", error };
            throw error;
          }
        }),
      ),
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #exchange<T>(perform: () => T): Promise<Awaited<T>> {
    const { clock, state, random, timeoutMs } = this.#deps;
    await this.#travel();
    if (state.isDown) {
      this.connectionsLost++;
      throw new RpcTransportError("rpc/unreachable", { endpoint: this.endpoint, reason: "connection refused" });
    }
    if (state.stalls) {
      await clock.sleep(timeoutMs);
      throw new RpcTransportError("rpc/timeout", { endpoint: this.endpoint, timeoutMs });
    }
    if (state.failureRate > 0 && random.chance(state.failureRate)) throw new RpcError(-32000, "the server failed");
    const performed = perform();
    const answer = await (performed instanceof Promise ? clock.working(performed) : performed);
    await this.#travel();
    if (state.lossRate > 0 && random.chance(state.lossRate)) {
      this.connectionsLost++;
      await clock.sleep(timeoutMs);
      throw new RpcTransportError("rpc/timeout", { endpoint: this.endpoint, timeoutMs });
    }
    return answer;
  }

  #answer(method: string, params: readonly unknown[]): unknown {
    const honest = this.#deps.handle(method, params);
    return this.#deps.state.lie?.(method, honest) ?? honest;
  }

  async #travel(): Promise<void> {
    const { clock, state, random } = this.#deps;
    if (state.maxLatencyMs > 0) await clock.sleep(random.between(0, state.maxLatencyMs));
  }
}
