import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import { createLogger, silentLogger } from "@rnode/observe";
import { noProgramMetrics, parseOptions, Scope, systemClock } from "@rnode/program";
import { startDevClient } from "../dev/start-dev.ts";
import { clientTable } from "../options.ts";

export interface DevClient {
  readonly url: string;
  readonly rpc: RpcClient;
  readonly banner: string;
  /** what its log warned of */
  readonly warnings: readonly string[];
  close(): Promise<void>;
}

/** A development chain in this process. */
export async function startDevTestClient(...args: readonly string[]): Promise<DevClient> {
  const parsed = parseOptions(clientTable, ["--dev", "--http.port=0", ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  const warnings: string[] = [];
  try {
    const { port, banner } = await startDevClient(scope, parsed.options, {
      log: createLogger({
        level: "warn",
        format: "json",
        destination: { write: (line) => warnings.push((JSON.parse(line) as { msg: string }).msg) },
      }),
      clock: systemClock,
      metrics: noProgramMetrics,
    });
    const url = `http://127.0.0.1:${port}`;
    const rpc = createRpcClient({ url, timeoutMs: 60_000 });
    return {
      url,
      rpc,
      banner,
      warnings,
      async close() {
        await rpc.close();
        await scope.close();
      },
    };
  } catch (error) {
    await scope.close();
    throw error;
  }
}
