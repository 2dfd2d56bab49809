import { RpcTransportError } from "@rnode/jsonrpc";
import { backoffMs, type Clock, isCodedError, parseQuantity } from "@rnode/primitives";
import { faultyAnswer, isNewerL1, L1Error, readAnswer } from "../l1-error.ts";
import { isEndpointFailure, type L1Endpoint, type L1Rpc } from "./endpoint.ts";

export interface L1EndpointsOptions {
  /** an endpoint of another chain is never used; `undefined`: any chain is accepted */
  readonly chainId?: bigint | undefined;
  /** attempts per request, over all endpoints, before it fails with l1/unavailable */
  readonly maxAttempts?: number | undefined;
}

export interface L1Log {
  warn(text: string, fields?: Record<string, unknown>): void;
  debug(text: string, fields?: Record<string, unknown>): void;
}

export interface L1EndpointMetrics {
  /** an answer that does not match its hash or root */
  faultyAnswer(endpoint: string): void;
  requestFailed(endpoint: string): void;
}

export interface L1EndpointsDeps {
  /** the first is used until it fails, then the next */
  readonly endpoints: readonly L1Endpoint[];
  readonly clock: Clock;
  readonly log: L1Log;
  readonly metrics?: L1EndpointMetrics | undefined;
}

/** The chain id of an endpoint, or why it is unknown. */
export interface StatedChainId {
  readonly endpoint: string;
  readonly chainId: bigint | undefined;
  readonly failure: Error | undefined;
}

const DEFAULT_MAX_ATTEMPTS = 4;
const RETRY_DELAYS = { firstMs: 250, maxMs: 4_000 };
/** Time after which the first endpoint is tried again; doubles after each failed return. */
const FIRST_RETURN_MS = 60_000;
const MAX_RETURN_MS = 960_000;

interface EndpointState {
  readonly endpoint: L1Endpoint;
  /** `connectionsLost` at the last confirmed chain id; `undefined`: it must confirm again */
  checkedAtLoss: number | undefined;
  checking: Promise<void> | undefined;
}

/**
 * Several endpoints of one L1: a failed or faulty answer is retried on the next endpoint.
 *
 * After a reconnection, another chain can be behind an address. So an endpoint must confirm its chain id before its first answer
 * counts, and again after a connection ended, a request failed or the client switched to it.
 */
export class L1Endpoints {
  private readonly options: L1EndpointsOptions;
  private readonly deps: L1EndpointsDeps;
  private readonly states: readonly EndpointState[];
  private current = 0;
  private returnAtMs = 0;
  private returnPauseMs = FIRST_RETURN_MS;
  private returning: Promise<void> | undefined;

  constructor(options: L1EndpointsOptions, deps: L1EndpointsDeps) {
    this.options = options;
    this.deps = deps;
    this.states = deps.endpoints.map((endpoint) => ({ endpoint, checkedAtLoss: undefined, checking: undefined }));
  }

  /**
   * The chain id of each endpoint; `undefined` for endpoints without an answer.
   *
   * @throws {L1Error} l1/unavailable: no endpoint answers
   */
  async chainIds(): Promise<readonly StatedChainId[]> {
    const failures: Error[] = [];
    const answers = await Promise.all(
      this.states.map(async ({ endpoint: { name, rpc } }) => {
        try {
          return { endpoint: name, chainId: await readChainId(rpc), failure: undefined };
        } catch (error) {
          if (!isEndpointFailure(error)) throw error;
          failures.push(error);
          return { endpoint: name, chainId: undefined, failure: error };
        }
      }),
    );
    if (failures.length < this.states.length) return answers;
    const [first] = failures;
    throw new L1Error("l1/unavailable", { what: "chain id", reason: first?.message ?? "no endpoints" }, { cause: first });
  }

  /**
   * Runs `attempt` with one endpoint after the other until it succeeds.
   *
   * @param what the requested data, for the log
   * @param attempt rejects with an endpoint failure if another endpoint may have the data
   * @throws {L1Error} l1/unavailable, which is temporary; l1/not-found if the last endpoint answers so
   */
  async request<T>(what: string, attempt: (endpoint: L1Endpoint) => Promise<T>): Promise<T> {
    const maxAttempts = this.options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS;
    for (let attempts = 1; ; attempts++) {
      const state = this.states[this.current];
      if (state === undefined) throw new L1Error("l1/unavailable", { what, attempts: 0 });
      const { endpoint } = state;
      this.considerReturn();
      try {
        await this.assertOurChain(state);
        const answer = await attempt(endpoint);
        await this.assertOurChain(state); // the answer may have come over a new connection
        return answer;
      } catch (error) {
        if (!isEndpointFailure(error)) throw error;
        this.noteFailure(state, what, error);
        if (attempts >= maxAttempts) {
          if (isCodedError(error, "l1/not-found")) throw error;
          throw new L1Error("l1/unavailable", { what, attempts, endpoint: endpoint.name, reason: error.message }, { cause: error });
        }
        await this.deps.clock.sleep(backoffMs(attempts, RETRY_DELAYS));
      }
    }
  }

  private async assertOurChain(state: EndpointState): Promise<void> {
    if (this.options.chainId === undefined) return;
    const { rpc } = state.endpoint;
    const needed = rpc.connectionsLost;
    while (state.checkedAtLoss === undefined || state.checkedAtLoss < needed) {
      state.checking ??= this.checkChain(state).finally(() => {
        state.checking = undefined;
      });
      await state.checking;
    }
  }

  private async checkChain(state: EndpointState): Promise<void> {
    const { rpc } = state.endpoint;
    const lost = rpc.connectionsLost;
    const chainId = await readChainId(rpc);
    if (chainId !== this.options.chainId) {
      throw faultyAnswer("another chain", { expected: String(this.options.chainId), got: chainId });
    }
    state.checkedAtLoss = lost;
  }

  private noteFailure(state: EndpointState, what: string, error: Error): void {
    const { name } = state.endpoint;
    const reason = error.message;
    if (isCodedError(error, "l1/faulty-answer")) {
      this.deps.metrics?.faultyAnswer(name);
      this.deps.log.warn("L1 endpoint gave a faulty answer", { endpoint: name, what, reason });
    } else {
      this.deps.metrics?.requestFailed(name);
      this.deps.log.debug("L1 request failed", { endpoint: name, what, reason });
    }
    if (error instanceof RpcTransportError) state.checkedAtLoss = undefined;
    // if the block is the problem, each switch of the endpoint is logged at debug level only
    this.moveOnFrom(state, isNewerL1(error) ? "debug" : "warn");
  }

  /** Moves on to the next endpoint, unless another request that failed at the same time has already done so. */
  private moveOnFrom(failed: EndpointState, level: "warn" | "debug"): void {
    if (this.states[this.current] !== failed || this.states.length === 1) return;
    const nowMs = this.deps.clock.monotonicMs();
    if (this.current === 0) {
      // it has just come back, and fails again
      const isSoon = nowMs - this.returnAtMs < this.returnPauseMs;
      this.returnPauseMs = isSoon && this.returnAtMs > 0 ? Math.min(this.returnPauseMs * 2, MAX_RETURN_MS) : FIRST_RETURN_MS;
    }
    this.current = (this.current + 1) % this.states.length;
    this.states[this.current]!.checkedAtLoss = undefined;
    this.returnAtMs = nowMs + this.returnPauseMs;
    this.deps.log[level]("going on with another L1 endpoint", {
      from: failed.endpoint.name,
      to: this.states[this.current]!.endpoint.name,
    });
  }

  /** Returns to the first endpoint when it answers again. Requests do not wait for that. */
  private considerReturn(): void {
    const { current, deps } = this;
    const first = this.states[0];
    if (current === 0 || first === undefined || this.returning !== undefined || deps.clock.monotonicMs() < this.returnAtMs) return;
    first.checkedAtLoss = undefined;
    this.returning = this.assertOurChain(first)
      .then(() => first.endpoint.rpc.call("eth_getBlockByNumber", ["latest", false]))
      .then(
        () => {
          this.current = 0;
          this.returnAtMs = deps.clock.monotonicMs();
          deps.log.warn("the first L1 endpoint answers again, going back to it", { endpoint: first.endpoint.name });
        },
        (error: unknown) => {
          if (!isEndpointFailure(error) && !isCodedError(error, "rpc/closed")) throw error;
          this.returnAtMs = deps.clock.monotonicMs() + this.returnPauseMs;
        },
      )
      .finally(() => {
        this.returning = undefined;
      });
  }
}

async function readChainId(rpc: L1Rpc): Promise<bigint> {
  const answer = await rpc.call("eth_chainId", []);
  return readAnswer("chain id", () => parseQuantity(String(answer)));
}
