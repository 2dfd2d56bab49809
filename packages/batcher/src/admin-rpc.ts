import { type MethodTable, method, param, RpcError, textShape } from "@rnode/jsonrpc";
import { type Logger, parseLogLevel } from "@rnode/observe";
import type { BatchSubmitter } from "./batch-submitter.ts";

const SERVER_ERROR = -32000;

export interface AdminDeps {
  /** undefined until the endpoints are known */
  readonly submitter: () => Pick<BatchSubmitter, "start" | "stop" | "flush"> | undefined;
  readonly log: Logger;
  readonly version: string;
}

/** Methods of the batcher's own server. Spec: docs/protocol/05-services.md#batcher-rpc */
export function batcherMethods({ submitter, log, version }: AdminDeps, enableAdmin: boolean): MethodTable {
  const health: MethodTable = {
    health_status: method({ params: [], summary: "The version.", handler: () => version }),
  };
  if (!enableAdmin) return health;
  const ready = (): Pick<BatchSubmitter, "start" | "stop" | "flush"> => {
    const found = submitter();
    if (found === undefined) throw new RpcError(SERVER_ERROR, "batcher is starting: it waits for its endpoints");
    return found;
  };
  return {
    ...health,
    admin_startBatcher: method({
      params: [],
      summary: "Begins to publish.",
      handler: () => {
        if (!ready().start()) throw new RpcError(SERVER_ERROR, "batcher is already running");
        return null;
      },
    }),
    admin_stopBatcher: method({
      params: [],
      summary: "Stops publishing; answers once transactions under way are included or the time for it is over.",
      handler: async () => {
        if (!(await ready().stop())) throw new RpcError(SERVER_ERROR, "batcher is not running");
        return null;
      },
    }),
    admin_flushBatcher: method({
      params: [],
      summary: "Publishes all blocks there are without waiting for channels to fill.",
      handler: () => {
        if (!ready().flush()) throw new RpcError(SERVER_ERROR, "batcher is not running");
        return null;
      },
    }),
    admin_setLogLevel: method({
      params: [param("level", textShape)],
      summary: "Sets the lowest level that is logged.",
      handler: ([name]) => {
        const level = parseLogLevel(name);
        if (level === undefined) throw new RpcError(SERVER_ERROR, `unknown level: ${name}`);
        log.level = level;
        return null;
      },
    }),
  };
}
