import { availableParallelism } from "node:os";
import { type Chain, headNoticeOf } from "@rnode/chain";
import {
  methodsInWriter,
  methodsOf,
  NAMESPACES,
  type PendingBlocks,
  type PendingFeed,
  type ReadServices,
  type WriteServices,
} from "@rnode/eth-api";
import { createDispatcher, DEFAULT_RPC_LIMITS, NO_CLIENT, type Probe, RpcError } from "@rnode/jsonrpc";
import type { Logger, MetricFactory } from "@rnode/observe";
import type { ChainDatabase } from "@rnode/storage";
import type { ChainSync } from "@rnode/sync";
import type { ClientOptions } from "../options.ts";
import type { PoolService } from "../pool/pool-service.ts";
import { syncStateOf } from "../sync/sync-state.ts";
import { type ListeningSocket, openListeningSocket } from "./listening-socket.ts";
import { ReaderPool } from "./reader-pool.ts";
import { readyzMethod } from "./readyz.ts";
import { errorAnswer } from "./routing.ts";

export interface ReadersDependencies {
  readonly services: ReadServices;
  readonly write: WriteServices;
  readonly submit: PoolService["submit"];
  readonly pending: PendingFeed;
  /** undefined: there are no blocks under construction */
  readonly pendingBlocks: PendingBlocks | undefined;
  readonly chain: Chain;
  readonly sync: Pick<ChainSync, "onStatus">;
  readonly store: Pick<ChainDatabase, "forgetDeadReaders">;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** for `GET /readyz` of the readers */
  readonly readyz: Probe | undefined;
  /** Called with the reason when readers can no longer be kept running. */
  readonly onFatal: (reason: string) => void;
}

/** Readers that have been started. */
export interface Readers {
  readonly pool: ReaderPool;
  readonly httpPort: number | undefined;
  readonly wsPort: number | undefined;
  /** Settles when all readers are serving. @throws {UserError} one cannot start */
  readonly isReady: Promise<void>;
  close(): Promise<void>;
}

/** The number of reader processes that serve the public listeners, or on demand the most; 0: this process serves them. */
export function readerCount({ http, ws, readers }: ClientOptions): number {
  if (!http.enabled && !ws.enabled) return 0;
  return readers.workers ?? defaultReaderCount(availableParallelism(), process.platform);
}

/** One core is for the writer. There are at least two readers nevertheless, so that one slow request never blocks everyone. */
export function defaultReaderCount(cores: number, platform: NodeJS.Platform): number {
  if (platform === "win32") return 0; // cannot pass sockets to other processes
  return Math.max(2, cores - 1);
}

/** Waits for a connection on any of several sockets. */
function watchAll(sockets: readonly ListeningSocket[]): (onPending: () => void) => (() => void) | undefined {
  return (onPending) => {
    const stops: ((() => void) | undefined)[] = [];
    const stopAll = (): void => {
      for (const stop of stops.splice(0)) stop?.();
    };
    for (const socket of sockets)
      stops.push(
        socket.watch(() => {
          stopAll();
          onPending();
        }),
      );
    if (!stops.includes(undefined)) return stopAll;
    stopAll();
    return undefined;
  };
}

/** Binds the public listeners and starts the processes that serve them. @throws errors from listening */
export function startReaders(options: ClientOptions, count: number, dependencies: ReadersDependencies): Readers {
  const { http, ws, readers, limits } = options;
  const { services, write, submit, pending, chain, sync, store, log, metrics, readyz, onFatal } = dependencies;
  const { profile } = services.backend;
  const sockets: ListeningSocket[] = [];
  const closeSockets = (): void => {
    for (const socket of sockets.splice(0)) socket.close();
  };
  const open = (addr: string, port: number): ListeningSocket => {
    const socket = openListeningSocket(addr, port);
    sockets.push(socket);
    return socket;
  };
  let httpSocket: ListeningSocket | undefined;
  let wsSocket: ListeningSocket | undefined;
  try {
    httpSocket = http.enabled ? open(http.host, http.port) : undefined;
    const isShared = http.enabled && http.host === ws.host && http.port === ws.port;
    wsSocket = ws.enabled ? (isShared ? httpSocket : open(ws.host, ws.port)) : undefined;
  } catch (error) {
    closeSockets();
    throw error;
  }

  // The readers have already counted the requests that they pass on.
  const dispatcher = createDispatcher({ dialect: profile.dialect, limits: { ...DEFAULT_RPC_LIMITS, ...limits }, log });
  const methods = { ...methodsInWriter(methodsOf(NAMESPACES, services), write), ...(readyz && readyzMethod(readyz)) };
  const pool = new ReaderPool(
    {
      ...readers,
      count,
      start: {
        options: { ...options, log: { ...options.log, level: log.level } },
        config: chain.config,
        startingBlock: services.startingBlock,
      },
      onDemand:
        readers.workers === undefined && readers.idleMs > 0 ? { idleMs: readers.idleMs, watch: watchAll(sockets) } : undefined,
      httpFd: httpSocket?.fd,
      wsFd: wsSocket?.fd,
    },
    {
      answer: async (text) => String((await dispatcher.handle(text, methods, NO_CLIENT)) ?? ""),
      submit: async ({ raw, terms, sender }) => {
        try {
          return await submit(raw, terms, sender);
        } catch (error) {
          if (error instanceof RpcError) return errorAnswer(error.toBody());
          log.error("transaction of a reader not taken", { err: error });
          return errorAnswer(profile.dialect.handlerFailed);
        }
      },
      pending,
      filterNotFound: profile.errors.filterNotFound,
      log,
      metrics,
      onEnd: () => store.forgetDeadReaders(),
      onFatal,
    },
  );
  const isReady = pool.start();
  isReady.catch(() => {}); // reported where it is awaited later
  const unfollowSync = sync.onStatus((status) => pool.announceSync(syncStateOf(status)));
  const unfollowParts = dependencies.pendingBlocks?.onChange((pending) => pool.announcePart(pending));
  const unfollow = chain.onHeadChange((change) => pool.announceHead(headNoticeOf(change)));
  return {
    pool,
    httpPort: httpSocket?.port,
    wsPort: wsSocket?.port,
    isReady,
    async close() {
      unfollow();
      unfollowParts?.();
      unfollowSync();
      await pool.close();
      closeSockets();
    },
  };
}
