import { type RpcClient, RpcError } from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import { type Clock, codedErrors } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, envelopeToJson } from "@rnode/protocol";
import { within } from "../common/within.ts";
import type { SequencerConductor } from "../sequencing/leadership.ts";

type ConductorClientErrorCode =
  /** no valid answer in time: it is unknown whether the conductor has committed the block */
  | "conductor/unavailable"
  /** the conductor answered with an error: for example, it does not lead */
  | "conductor/refused";

class ConductorClientError extends codedErrors<ConductorClientErrorCode>({
  "conductor/unavailable": "the conductor at {endpoint} does not answer {method}: {reason}",
  "conductor/refused": "the conductor at {endpoint} refuses {method}: {reason}",
}) {}

export interface ConductorClientOptions {
  /** for a request with all its attempts */
  readonly rpcTimeoutMs: number;
}

export interface ConductorClientDeps {
  /** connects with its first request */
  readonly rpc: Pick<RpcClient, "endpoint" | "call" | "close">;
  readonly clock: Clock;
  readonly log: Logger;
}

const ATTEMPTS = 2;
const PAUSE_MS = 50;
/** longer than every `rpcTimeoutMs`, and within the range of timers */
const NO_OWN_LIMIT_MS = 2 ** 31 - 1;

/**
 * Calls a conductor over RPC: whether this node leads, and to commit each block before it is published. Only the exact answers
 * `true` and `null` count as yes. Spec: docs/protocol/05-services.md#conductor
 */
export class ConductorClient implements SequencerConductor {
  private readonly options: ConductorClientOptions;
  private readonly deps: ConductorClientDeps;
  private isOverridden = false;

  constructor(options: ConductorClientOptions, deps: ConductorClientDeps) {
    this.options = options;
    this.deps = deps;
  }

  /** @throws {ConductorClientError} */
  async isLeader(): Promise<boolean> {
    if (this.isOverridden) return true;
    return this.ask("conductor_leader", [], (answer) => (typeof answer === "boolean" ? { value: answer } : undefined));
  }

  /** @throws {ConductorClientError} */
  async consent(envelope: ExecutionPayloadEnvelope, signal: AbortSignal): Promise<"leader"> {
    if (this.isOverridden) return "leader";
    const params = [envelopeToJson(envelope)];
    const isNull = (answer: unknown) => (answer === null ? { value: null } : undefined);
    await this.ask("conductor_commitUnsafePayload", params, isNull, signal);
    return "leader";
  }

  overrideLeader(): void {
    this.isOverridden = true;
    this.deps.log.warn("leadership is overridden: this node sequences without asking its conductor, until it is restarted");
  }

  close(): Promise<void> {
    return this.deps.rpc.close();
  }

  /** @param read undefined: not a valid answer of this method */
  private async ask<T>(
    method: string,
    params: readonly unknown[],
    read: (answer: unknown) => { readonly value: T } | undefined,
    stop?: AbortSignal,
  ): Promise<T> {
    const { rpc, clock } = this.deps;
    const { rpcTimeoutMs: limitMs } = this.options;
    let failure: unknown;
    const outcome = await within({ clock, limitMs, ...(stop && { stop }) }, async (signal) => {
      for (let attempt = 1; ; attempt++) {
        try {
          // only the signal ends it: with a second timer of the same length, the reason would be random
          const answer = await rpc.call(method, params, { signal, timeoutMs: NO_OWN_LIMIT_MS });
          const understood = read(answer);
          if (understood !== undefined) return understood.value;
          throw new TypeError(`${JSON.stringify(answer).slice(0, 100)} is no answer to it`);
        } catch (error) {
          if (!signal.aborted) failure = error;
          if (attempt === ATTEMPTS || signal.aborted) throw error;
        }
        await clock.sleep(PAUSE_MS, signal);
      }
    });
    if (outcome.kind === "done") return outcome.value;
    const facts = { endpoint: rpc.endpoint, method };
    if (outcome.kind === "failed" && outcome.error instanceof RpcError) {
      throw new ConductorClientError("conductor/refused", { ...facts, reason: outcome.error.message }, { cause: outcome.error });
    }
    const silence = outcome.kind === "stopped" ? "nobody waits for it any more" : `nothing within ${limitMs} ms`;
    const reason = failure instanceof Error ? failure.message : silence;
    throw new ConductorClientError("conductor/unavailable", { ...facts, reason }, failure === undefined ? {} : { cause: failure });
  }
}
