import { type MethodTable, method, param, RpcError, textShape } from "@rnode/jsonrpc";
import { type Logger, parseLogLevel } from "@rnode/observe";
import type { Proposer } from "./proposer.ts";

const SERVER_ERROR = -32000;

export interface AdminDeps {
  /** undefined until the endpoints are known */
  readonly proposer: () => Pick<Proposer, "start" | "stop"> | undefined;
  readonly log: Logger;
  readonly version: string;
}

/** Methods of the proposer's own server, as op-proposer has them. */
export function proposerMethods({ proposer, log, version }: AdminDeps, enableAdmin: boolean): MethodTable {
  const health: MethodTable = {
    health_status: method({ params: [], summary: "The version.", handler: () => version }),
  };
  if (!enableAdmin) return health;
  const ready = (): Pick<Proposer, "start" | "stop"> => {
    const found = proposer();
    if (found === undefined) throw new RpcError(SERVER_ERROR, "proposer is starting: it waits for its endpoints");
    return found;
  };
  return {
    ...health,
    admin_startProposer: method({
      params: [],
      summary: "Begins to propose.",
      handler: () => {
        if (!ready().start()) throw new RpcError(SERVER_ERROR, "proposer is already running");
        return null;
      },
    }),
    admin_stopProposer: method({
      params: [],
      summary: "Stops proposing. A proposal that is under way may still be included.",
      handler: async () => {
        if (!(await ready().stop())) throw new RpcError(SERVER_ERROR, "proposer is not running");
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
