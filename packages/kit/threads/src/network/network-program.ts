import { type MessagePort, parentPort } from "node:worker_threads";
import { type Counter, createMetrics, type MetricFactory, noMetrics } from "@rnode/observe";
import { boundedLines } from "./bounded-lines.ts";
import {
  FIRST_COUNTER,
  type FromThread,
  HEARTBEAT,
  LOG_LINES,
  type NetworkStart,
  type NetworkTypes,
  type ToThread,
} from "./network-messages.ts";
import { sendError } from "./sent-error.ts";
import { SentLogger } from "./sent-logger.ts";

const HEARTBEAT_INTERVAL_MS = 1_000;
const IDENTITY_INTERVAL_MS = 5_000;

/** A network, as far as its thread needs to know it. */
interface RunningNetwork<Identity> {
  readonly identity: Identity;
  close(): Promise<void>;
}

/**
 * Runs the networks that `NetworkThread`s start in this thread.
 *
 * @param rejections counts unhandled rejections
 * @param open runs one network
 */
export function serveNetworks<N extends NetworkTypes>(
  rejections: (metrics: MetricFactory) => Counter,
  open: (program: NetworkProgram<N>) => Promise<void>,
): void {
  const programs = new Set<NetworkProgram<N>>();
  // A rejection that a peer causes in a library must not end a network. It does not say of which. Exceptions still end the thread.
  process.on("unhandledRejection", (error) => {
    for (const program of programs) program.noteRejection(error);
  });
  parentPort!.on("message", (start: NetworkStart<N["config"]>) => {
    const program = new NetworkProgram<N>(start, rejections);
    programs.add(program);
    open(program).catch((error: unknown) => program.fail(error));
  });
}

/** A network in its thread, as `NetworkThread` sees it. */
export class NetworkProgram<N extends NetworkTypes> {
  readonly config: N["config"];
  readonly log: SentLogger;
  readonly metrics: MetricFactory;
  /** shared with the process, for data in flight to it */
  readonly counters: Int32Array<SharedArrayBuffer>;
  /** for what goes before everything else */
  readonly urgent: MessagePort;
  readonly #main: MessagePort;
  readonly #collected: ReturnType<typeof createMetrics> | undefined;
  readonly #rejections: Counter;
  readonly #timers: NodeJS.Timeout[];

  /** @param rejections counts unhandled rejections */
  constructor(
    { config, level, metricsPrefix, shared, port, urgent }: NetworkStart<N["config"]>,
    rejections: (metrics: MetricFactory) => Counter,
  ) {
    this.config = config;
    this.#main = port;
    this.urgent = urgent;
    this.counters = shared.subarray(FIRST_COUNTER);
    this.log = new SentLogger(
      level,
      boundedLines(shared, LOG_LINES, (line) => this.#post({ kind: "log", ...line })),
    );
    this.#collected = metricsPrefix === undefined ? undefined : createMetrics({ prefix: metricsPrefix, ofProcess: false });
    this.metrics = this.#collected ?? noMetrics;
    this.#rejections = rejections(this.metrics);
    this.#timers = [setInterval(() => Atomics.add(shared, HEARTBEAT, 1), HEARTBEAT_INTERVAL_MS)];
  }

  send(message: N["from"], transfer: readonly ArrayBuffer[] = []): void {
    this.#post({ kind: "own", message }, transfer);
  }

  /** Answers the process's request with this id. @param buffersOf the transfer list */
  async answer<T>(id: number, find: () => Promise<T>, buffersOf: (value: T) => readonly ArrayBuffer[] = () => []): Promise<void> {
    try {
      const value = await find();
      this.#post({ kind: "result", id, value }, buffersOf(value));
    } catch (error) {
      this.#post({ kind: "error", id, error: sendError(error) });
    }
  }

  /**
   * Starts the network, sends its identity, and runs until it is closed.
   *
   * @param serve prepares for messages of the process. @returns their handler
   */
  async run<Network extends RunningNetwork<N["identity"]>>(
    start: () => Promise<Network>,
    serve: (network: Network) => (message: N["to"]) => void,
  ): Promise<void> {
    const network = await start();
    const take = serve(network);
    this.#tellIdentity(network);
    this.#main.on("message", (message: ToThread<N["to"]>) => void this.#obey(network, take, message));
  }

  /** The network cannot be started. */
  fail(error: unknown): void {
    this.#post({ kind: "failed", error: sendError(error) });
  }

  noteRejection(error: unknown): void {
    this.#rejections.inc();
    this.log.debug("a promise failed that nobody waits for", { error });
  }

  #tellIdentity(network: RunningNetwork<N["identity"]>): void {
    let told = JSON.stringify(network.identity);
    this.#post({ kind: "started", identity: network.identity });
    const tell = (): void => {
      const now = JSON.stringify(network.identity);
      if (now === told) return;
      told = now;
      this.#post({ kind: "identity", identity: network.identity });
    };
    this.#timers.push(setInterval(tell, IDENTITY_INTERVAL_MS));
  }

  /** What fails in here is an unhandled rejection, which the thread survives. */
  async #obey(network: RunningNetwork<N["identity"]>, take: (message: N["to"]) => void, message: ToThread<N["to"]>): Promise<void> {
    switch (message.kind) {
      case "own":
        return take(message.message);
      case "collect":
        return this.answer(message.id, async () => (await this.#collected?.collect()) ?? []);
      case "level":
        this.log.level = message.level;
        return;
      case "close":
        await network.close();
        for (const timer of this.#timers) clearInterval(timer);
        this.#post({ kind: "closed" });
    }
  }

  #post(message: FromThread<N["from"], N["identity"]>, transfer: readonly ArrayBuffer[] = []): void {
    this.#main.postMessage(message, [...transfer]);
  }
}
