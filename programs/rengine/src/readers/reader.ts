import { performance } from "node:perf_hooks";
import { openChainReader, type PendingUpdate, pendingBlockFrom, pendingUpdateOf } from "@rnode/chain";
import { ethLogMethods, SyncFeed } from "@rnode/eth-api";
import { createDispatcher, DEFAULT_RPC_LIMITS, NO_CLIENT } from "@rnode/jsonrpc";
import { createLogger, createMetrics, noMetrics } from "@rnode/observe";
import { connectionBudget, systemClock } from "@rnode/program";
import { describePageReading } from "@rnode/storage";
import { createPublicServer } from "../rpc/public-server.ts";
import { createReadServices, profileOf } from "../rpc/read-services.ts";
import { openExistingDatabase } from "../setup/database.ts";
import { pendingBlocksOf } from "../subblocks/subblock-options.ts";
import { CostlyRequests } from "./costly-requests.ts";
import { type CostlyThread, startCostlyThread } from "./costly-thread.ts";
import { GasBudgets } from "./gas-budgets.ts";
import type { MessageToReader, MessageToWriter, Outbox, ReaderStart } from "./messages.ts";
import { oncePerRun } from "./once-per-run.ts";
import { limitsOfReader } from "./reader-limits.ts";
import { readyzOfWriter } from "./readyz.ts";
import { RelayQueue } from "./relay-queue.ts";
import { routeMethods } from "./routing.ts";
import { ShortWork } from "./short-work.ts";
import { WriterLink } from "./writer-link.ts";

/** Limits of requests for other processes: waiting here, and running there. */
const MAX_RELAYED = 4096;
const MAX_SENT = 32;
const MAX_RELAYED_ANSWER_BYTES = 16 * 1024 * 1024;

/** Serves the public listeners from the database that another process writes. */
export interface Reader {
  receive(message: MessageToReader): void;
  close(): Promise<void>;
  /** Closes if it has no clients. @returns whether it has closed */
  closeIfUnused(): Promise<boolean>;
}

/** @throws CodedError from the database; errors from listening */
export async function startReader(start: ReaderStart, outbox: Outbox<MessageToWriter>): Promise<Reader> {
  const { options, config, reader, count, startingBlock } = start;
  const { server: serverLimits, maxWaitingBytes } = limitsOfReader(options, count);
  const log = createLogger(options.log).child({ reader: reader + 1 });
  const labels = { reader: String(reader + 1) };
  const metrics = options.metrics.enabled ? createMetrics({ prefix: "rengine_", labels }) : undefined;
  const store = openExistingDatabase(options.chain.datadir, {
    readOnly: true,
    proofWindowBlocks: options.proofs.window,
  });
  const chainView = openChainReader(store, config);
  const link = new WriterLink(outbox, profileOf(options), options.sending.feeCapWei);
  const sync = new SyncFeed();
  sync.set(start.syncing);
  const pending = pendingBlocksOf(options.subblocks);
  const services = createReadServices(options, {
    pending,
    store,
    chainView,
    writer: link,
    clock: systemClock,
    startingBlock,
    sync,
    filterHome: { reader, count },
    metrics,
  });
  const { filters, backend } = services;
  const { dialect, errors } = backend.profile;
  chainView.onHeadChange((change) => filters.onHeadChange(change));
  filters.followPending(link);

  const refresh = oncePerRun(() => store.refresh());
  const budgets = new GasBudgets(options.gas);
  const short = new ShortWork((client, gas) => budgets.charge(client, gas));
  let costlyThread: CostlyThread | undefined;
  const costly = new CostlyRequests(
    { ...options.costly, maxWaitingBytes, maxTraces: options.traces.maxRunning, hardLimitMs: options.readers.hardLimitMs },
    {
      startThread(givenUp, events) {
        costlyThread = startCostlyThread({ reader, options, config, startingBlock, givenUp }, events);
        const { latest } = pending ?? {};
        if (latest !== undefined) costlyThread.post({ kind: "part", update: pendingUpdateOf(latest, undefined) });
        return costlyThread;
      },
      ask: (text, target) => link.ask(text, target),
      budgets,
      learn: (client, workedMs) => short.learn(client, workedMs),
      log,
      metrics: metrics ?? noMetrics,
    },
  );
  const relay = new RelayQueue(
    (text, target) => link.ask(text, target),
    { maxWaiting: MAX_RELAYED, maxWaitingBytes, maxSent: MAX_SENT, maxAnswerBytes: MAX_RELAYED_ANSWER_BYTES },
    metrics ?? noMetrics,
  );
  const routing = {
    reader,
    count,
    elsewhere: relay,
    refresh,
    filterNotFound: errors.filterNotFound,
    short,
    costly,
  };
  const server = createPublicServer(options, {
    services,
    pending: link,
    log,
    metrics: metrics ?? noMetrics,
    maxOpenFiles: connectionBudget(),
    fds: { http: start.httpFd, ws: start.wsFd },
    bind: (methods) => routeMethods(methods, routing),
    readLarge: (text, client) => costly.read(client, text),
    limits: serverLimits,
    head: {
      number() {
        refresh();
        return chainView.head().number;
      },
      onChange: (listener) => chainView.onHeadChange(listener),
    },
    readyz: readyzOfWriter((text) => link.ask(text)),
  });

  let lastLoad = performance.eventLoopUtilization();
  const loadSinceLast = (): number => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, lastLoad);
    lastLoad = now;
    return Math.max(utilization, costly.loadSinceLast());
  };
  const maxConnections = options.limits.maxConnections;

  // Requests from other readers about filters kept here; those readers have counted the requests.
  const ownFilters = routeMethods(ethLogMethods(services), routing);
  const dispatcher = createDispatcher({ dialect, limits: { ...DEFAULT_RPC_LIMITS, ...options.limits }, log });
  const answerOther = async (text: string): Promise<string> => String((await dispatcher.handle(text, ownFilters, NO_CLIENT)) ?? "");

  const setPart = (update: PendingUpdate | undefined): void => {
    pending?.set(update && pendingBlockFrom(update, pending.latest));
    costlyThread?.post({ kind: "part", update });
  };
  if (start.pendingBlock !== undefined) setPart(start.pendingBlock);

  const isUnused = (connections: readonly number[]): boolean => connections.every((count) => count === 0) && filters.count === 0;
  let closed: Promise<void> | undefined;
  async function close(): Promise<void> {
    await server.close();
    await costly.close();
    await store.close();
  }

  await server.listen();
  log.debug("reader serves", { pid: process.pid, reading: describePageReading(store.pageReading) });

  return {
    receive(message) {
      switch (message.kind) {
        case "start":
          return;
        case "head":
          store.refresh();
          chainView.follow(message.notice);
          return;
        case "part":
          setPart(message.update);
          return;
        case "syncing":
          sync.set(message.state);
          return;
        case "pending":
          link.announcePending(message.transactions);
          return;
        case "call":
          void answerOther(message.text).then((text) => outbox.push({ kind: "answer", id: message.id, text }));
          return;
        case "answer":
          link.onAnswer(message.id, message.text);
          return;
        case "accepted":
          link.onAnswer(message.id, message.hash);
          return;
        case "ping":
          // A reader that had no place left could not choose whom to give one: clients of other readers would keep newcomers out.
          server.limitConnections(
            message.elsewhere.map((others) => Math.max(maxConnections - others, Math.ceil(maxConnections / count))),
          );
          void server.connections().then((connections) => {
            const isIdle = isUnused(connections);
            outbox.push({ kind: "pong", connections, isIdle, load: loadSinceLast() });
          });
          return;
        case "shed":
          server.shedConnections(message.share);
          return;
        case "metrics":
          void (metrics?.collect() ?? Promise.resolve([])).then((values) => outbox.push({ kind: "metrics", values }));
          return;
        case "retire":
        case "close":
          return;
      }
    },
    close: () => (closed ??= close()),
    async closeIfUnused() {
      // Nothing is accepted between the question and `close`, which ends accepting at once.
      if (!isUnused(await server.connections())) return false;
      await (closed ??= close());
      return true;
    },
  };
}
