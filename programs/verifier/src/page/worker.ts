import { channelDecompressor, inflateAll } from "@rnode/compression/channel-decompressor";
import { compileEvm, createEvm, type EvmEngine } from "@rnode/evm";
import engineUrl from "@rnode/evm/engine.wasm?url";
import { type CheckRequest, runCheck } from "../check/run-check.ts";
import { loadBrotli } from "./brotli.ts";
import type { WorkerMessage } from "./messages.ts";

// The check runs in a worker: executing a block is synchronous, and the page must stay responsive.

let loading: Promise<EvmEngine> | undefined;
async function loadEngine(): Promise<EvmEngine> {
  const response = await fetch(engineUrl);
  if (!response.ok) throw new Error(`the engine cannot be loaded: HTTP status ${response.status}`);
  const hashSeed = crypto.getRandomValues(new Uint8Array(16));
  return createEvm(compileEvm(new Uint8Array(await response.arrayBuffer())), { hashSeed });
}

const send = (message: WorkerMessage): void => postMessage(message);

addEventListener("message", (event: MessageEvent<CheckRequest>) => {
  void check(event.data);
});

async function check(request: CheckRequest): Promise<void> {
  try {
    loading ??= loadEngine();
    const engine = await loading;
    const result = await runCheck(request, {
      engine: () => engine,
      decompressor: async () => channelDecompressor({ inflateRaw: inflateAll, brotli: await loadBrotli() }),
      now: () => performance.now(),
      onStep: (step) => send({ kind: "step", step }),
    });
    send({ kind: "result", result });
  } catch (error) {
    send({ kind: "fault", text: error instanceof Error ? error.message : String(error) });
  }
}

// What came before this would have been lost: the modules above await the loading of WebAssembly.
send({ kind: "ready" });
