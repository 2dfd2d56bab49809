import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSenderCache, GenesisState, initGenesis, openChain, sealGenesis } from "@rnode/chain";
import type { EngineAnswer, EngineUnderTest } from "@rnode/conformance";
import { PROFILE_R } from "@rnode/eth-api";
import { createDispatcher, DEFAULT_RPC_LIMITS, NO_CLIENT } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import type { ChainConfig, Genesis } from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import { engineMethods } from "./engine-methods.ts";

/** The Engine API of a client on a new chain in a temporary folder: its requests are read and answered as texts, as a listener does. */
export async function startTestEngine({ header, alloc }: Genesis, config: ChainConfig): Promise<EngineUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), "rengine-enginetest-"));
  const store = openChainStore(folder, { sync: "interval" });
  initGenesis(store, sealGenesis(header, config, GenesisState.of(alloc)));
  const senders = createSenderCache();
  const nowMs = (): number => performance.now();
  const chain = openChain({ store, config, senders, nowMs });
  const methods = engineMethods({ chain, profile: PROFILE_R, senders, log: silentLogger, nowMs, onSignal: () => undefined });
  const dispatcher = createDispatcher({ dialect: PROFILE_R.dialect, limits: DEFAULT_RPC_LIMITS, log: silentLogger });
  return {
    async call(method, params): Promise<EngineAnswer> {
      const text = String(await dispatcher.handle(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), methods, NO_CLIENT));
      const { result, error } = JSON.parse(text) as { result?: unknown; error?: { code: number; message: string; data?: unknown } };
      if (error === undefined) return { kind: "result", result };
      return { kind: "error", code: error.code, message: `${error.message} ${JSON.stringify(error.data ?? "")}` };
    },
    async close() {
      await chain.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
