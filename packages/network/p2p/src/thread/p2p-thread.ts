import type { CollectedMetrics, Logger, MetricFactory } from "@rnode/observe";
import { type Clock, CodedError, isCodedError } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { type NetworkRun, NetworkThread, ThreadHost } from "@rnode/threads";
import type { P2PConfig, P2PHandlers, P2PIdentity, P2PNetwork, Published, UnsafeGap } from "../network.ts";
import { forwardedPeerApi, type PeerApi, type PeerApiCall, type PeerApiMethod, type PeerApiResult } from "../peers/peer-api.ts";
import { type P2PSetting, P2PSettingError } from "../settings-error.ts";
import { decodeReceivedBlock, encodeBlock } from "./encoded-block.ts";
import { COUNTERS, type P2PTypes, PAYLOAD_BYTES, PAYLOADS, type Publish } from "./messages.ts";

type P2PThreadErrorCode =
  /** the thread of the network was lost, and is being started again */
  | "p2p/thread-lost"
  /** too many calls wait for the thread */
  | "p2p/busy"
  | "p2p/closed";

const TEXTS: Readonly<Record<P2PThreadErrorCode, string>> = {
  "p2p/thread-lost": "the P2P network is being started again: try again in a moment",
  "p2p/busy": "too many calls wait for the P2P network: try again in a moment",
  "p2p/closed": "the P2P network is closed",
};

class P2PThreadError extends CodedError<P2PThreadErrorCode> {
  constructor(code: P2PThreadErrorCode, options?: ErrorOptions) {
    super(code, {}, options);
    this.message = TEXTS[code];
  }
}

export interface P2PThreadDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** `undefined`: no metrics in the thread */
  readonly metricsPrefix: string | undefined;
  /** shared with other networks; default: one of its own */
  readonly host?: ThreadHost | undefined;
}

const PROGRAM = new URL("./p2p-worker.js", import.meta.url);
const MAX_CALLS = 256;
const MAX_QUESTIONS = 16;
/** Of all networks that share a thread. */
const MEMORY = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 16 } as const;
const NO_ANSWER = { lost: "p2p/thread-lost", busy: "p2p/busy", closed: "p2p/closed" } as const;

/** For networks that share a thread. @param overrides for tests: another program, options of Node */
export const networkThreads = (overrides?: { readonly program: URL; readonly execArgv: readonly string[] }): ThreadHost =>
  new ThreadHost({ program: PROGRAM, memory: MEMORY, ...overrides });

/**
 * The network in a separate thread, so that a flood of messages does not delay the node. Data between the threads is bounded by
 * count and bytes, and blocks to publish have priority. A crashed thread is restarted with the same identity and ports.
 */
export class P2PThread implements P2PNetwork {
  readonly api: PeerApi;
  readonly #config: P2PConfig;
  readonly #handlers: P2PHandlers;
  readonly #thread: NetworkThread<P2PTypes>;
  /** the last two that L1 named, the newer one last: blocks of the former are accepted for a time */
  #signers: readonly Uint8Array[] = [];
  #questions = 0;

  private constructor(config: P2PConfig, handlers: P2PHandlers, deps: P2PThreadDeps) {
    const { clock, log, metrics, metricsPrefix, host = networkThreads() } = deps;
    this.#config = config;
    this.#handlers = handlers;
    this.#thread = new NetworkThread<P2PTypes>(
      {
        config,
        host,
        counters: COUNTERS,
        maxCalls: MAX_CALLS,
        metricsPrefix,
        texts: {
          lost: "the thread of the P2P network was lost: it is started again",
          again: "the P2P network runs again",
        },
      },
      {
        clock,
        log,
        losses: metrics.counter("p2p_thread_losses_total", "How often the thread of the network was lost."),
        onMessage: (run, message) => this.#take(run, message),
        onServing: (run, { tcpPort }, started) => {
          for (const address of this.#signers) run.send({ kind: "signer", address });
          return { ...started, listen: { ...started.listen, tcpPort } };
        },
        noAnswer: (why, options) => new P2PThreadError(NO_ANSWER[why], options),
        startError,
        describe: ({ peerId }) => ({ peerId }),
      },
    );
    this.api = forwardedPeerApi(
      async <M extends PeerApiMethod>(call: PeerApiCall<M>) =>
        (await this.#thread.ask((run, id) => run.send({ kind: "call", id, call }))) as PeerApiResult<M>,
    );
  }

  /** @throws {P2PSettingError}, or other errors of the start */
  static async start(config: P2PConfig, handlers: P2PHandlers, deps: P2PThreadDeps): Promise<P2PThread> {
    const started = new P2PThread(config, handlers, deps);
    await started.#thread.start();
    return started;
  }

  get identity(): P2PIdentity {
    return this.#thread.identity;
  }

  setUnsafeBlockSigner(address: Uint8Array): void {
    this.#signers = [...this.#signers.slice(-1), address];
    this.#thread.serving?.send({ kind: "signer", address });
  }

  async publish(envelope: ExecutionPayloadEnvelope, signature: Uint8Array): Promise<Published> {
    const block = encodeBlock(this.#config.rollup.forkTimes, envelope);
    return (await this.#thread.ask((run, id) => {
      const message: Publish = { id, block, signature };
      run.urgent.postMessage(message, [block.bytes.buffer]);
    })) as Published;
  }

  requestGap(gap: UnsafeGap): void {
    this.#thread.serving?.send({ kind: "gap", gap });
  }

  collect(): Promise<readonly CollectedMetrics[]> {
    return this.#thread.collect();
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  #take(run: NetworkRun<P2PTypes>, message: P2PTypes["from"]): void {
    switch (message.kind) {
      case "payload":
        Atomics.sub(run.counters, PAYLOAD_BYTES, message.block.bytes.length);
        Atomics.sub(run.counters, PAYLOADS, 1);
        this.#handlers.onUnsafePayload(decodeReceivedBlock(message.block), message.from);
        return;
      case "ask":
        void this.#answer(run, message.id, message.number);
        return;
    }
  }

  async #answer(run: NetworkRun<P2PTypes>, id: number, number: number): Promise<void> {
    if (this.#questions >= MAX_QUESTIONS) return run.send({ kind: "block", id, error: "too many questions" });
    this.#questions++;
    try {
      const envelope = await this.#handlers.payloadByNumber(number);
      const block = envelope && encodeBlock(this.#config.rollup.forkTimes, envelope);
      run.send({ kind: "block", id, block }, block === undefined ? [] : [block.bytes.buffer]);
    } catch (error) {
      run.send({ kind: "block", id, error: error instanceof Error ? error.message : String(error) });
    } finally {
      this.#questions--;
    }
  }
}

const startError = (error: Error): Error =>
  isCodedError(error, "p2p/bad-setting")
    ? new P2PSettingError(error.data.setting as P2PSetting, error.message, { cause: error })
    : error;
