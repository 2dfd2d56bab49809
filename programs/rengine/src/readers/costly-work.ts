import { getHeapStatistics } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { openChainReader, pendingBlockFrom } from "@rnode/chain";
import { type ApiMethods, costlyMethods, methodsOf, RequestWork, type Work } from "@rnode/eth-api";
import {
  buffersOfLargeRequest,
  CLIENT_GONE,
  createDispatcher,
  DEFAULT_RPC_LIMITS,
  decodeRequest,
  NO_CLIENT,
  type RequestContext,
  type RequestText,
  RpcError,
  readLargeRequest,
  SERVER_ERROR,
} from "@rnode/jsonrpc";
import { createLogger, errorText } from "@rnode/observe";
import { systemClock } from "@rnode/program";
import { createReadServices, profileOf } from "../rpc/read-services.ts";
import { openExistingDatabase } from "../setup/database.ts";
import { pendingBlocksOf } from "../subblocks/subblock-options.ts";
import type { CostlyStart, MessageFromCostly, MessageToCostly } from "./costly-messages.ts";
import { oncePerRun } from "./once-per-run.ts";
import { bytesOfLongResult } from "./routing.ts";
import { WriterLink } from "./writer-link.ts";

// The thread of a reader that answers costly requests, one or a few at a time. It reads the same database through a separate
// view.

/**
 * When the heap is larger than this, garbage is collected before the next request: V8 would let garbage grow to the heap's limit,
 * in every reader.
 */
const LARGE_HEAP_BYTES = 128 * 1024 * 1024;

const port = parentPort!;
const tell = (message: MessageFromCostly): void => port.postMessage(message);

/** A request that this thread works on. */
interface CostlyContext extends RequestContext {
  readonly work: Work;
}

function start({ reader, options, config, startingBlock, givenUp }: CostlyStart): (message: MessageToCostly) => void {
  const log = createLogger(options.log).child({ reader: reader + 1 });
  const store = openExistingDatabase(options.chain.datadir, {
    readOnly: true,
    proofWindowBlocks: options.proofs.window,
  });
  const link = new WriterLink(
    {
      push: (message) => {
        if (message.kind === "call") tell(message);
      },
    },
    profileOf(options),
    options.sending.feeCapWei,
  );
  const pending = pendingBlocksOf(options.subblocks);
  const services = createReadServices(options, {
    pending,
    store,
    chainView: openChainReader(store, config),
    writer: link,
    clock: systemClock,
    startingBlock,
  });
  const { http, ws } = options;
  const declared: ApiMethods = methodsOf(
    [...new Set([...(http.enabled ? http.api : []), ...(ws.enabled ? ws.api : [])])],
    services,
  );
  const methods = costlyMethods(declared, (context) => (context as CostlyContext).work);
  const limits = { ...DEFAULT_RPC_LIMITS, ...options.limits };
  const { dialect } = services.backend.profile;
  const dispatcher = createDispatcher({ dialect, limits, log });
  const refresh = oncePerRun(() => store.refresh());

  const run = async (id: number, place: number, text: RequestText): Promise<void> => {
    const startMs = performance.now();
    const work = new RequestWork(() => {
      if (Atomics.load(givenUp, place) !== 0) throw new RpcError(SERVER_ERROR, CLIENT_GONE);
    }, options.calls.maxGasPerRequest);
    const context: CostlyContext = { ...NO_CLIENT, work };
    refresh();
    const answer = (await dispatcher.handle(decodeRequest(text), methods, context)) ?? "";
    const message = { kind: "done", id, workedMs: performance.now() - startMs, gas: Number(work.gas) } as const;
    const own = typeof answer === "string" ? undefined : answer.ownResult;
    const answerText = own === undefined ? String(answer) : "";
    const bytes = own ?? bytesOfLongResult(answerText);
    if (bytes === undefined) tell({ ...message, result: answerText });
    else port.postMessage({ ...message, result: bytes } satisfies MessageFromCostly, [bytes.buffer]); // PERF: transferred, not copied
    if (getHeapStatistics().used_heap_size > LARGE_HEAP_BYTES) setImmediate(() => globalThis.gc?.());
  };

  const read = (id: number, text: RequestText): void => {
    const startMs = performance.now();
    const result = readLargeRequest(decodeRequest(text), limits, dialect);
    const message = { kind: "done", id, result, workedMs: performance.now() - startMs, gas: 0 } satisfies MessageFromCostly;
    port.postMessage(message, [...buffersOfLargeRequest(result)]);
  };

  return (message) => {
    switch (message.kind) {
      case "run":
        void run(message.id, message.place, message.text);
        return;
      case "read":
        read(message.id, message.text);
        return;
      case "answer":
        link.onAnswer(message.id, message.text);
        return;
      case "part":
        pending?.set(message.update && pendingBlockFrom(message.update, pending.latest));
        return;
      case "close":
        void store.close().finally(() => process.exit(0)); // ends the thread only
        return;
    }
  };
}

try {
  port.on("message", start(workerData as CostlyStart));
  tell({ kind: "ready" });
} catch (error) {
  tell({ kind: "failed", reason: errorText(error) });
}
