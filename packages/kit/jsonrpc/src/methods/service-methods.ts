import { type Logger, parseLogLevel } from "@rnode/observe";
import { type MethodTable, method, param } from "../wire/method-table.ts";
import { RpcError, SERVER_ERROR } from "../wire/rpc-error.ts";
import { textShape } from "../wire/shape.ts";

/** A service that can be started and stopped. */
export interface Service {
  /** @returns false if it is already running */
  start(): boolean;
  /** @returns false if it is not running */
  stop(): Promise<boolean>;
}

export interface ServiceMethodsDeps {
  /** in the methods' names, and in lower case in errors: `Batcher` */
  readonly name: string;
  /** undefined until the program's endpoints are known */
  readonly service: () => Service | undefined;
  readonly log: Logger;
  readonly version: string;
  /** descriptions of start and stop, for the list of methods */
  readonly summaries: { readonly start: string; readonly stop: string };
}

/** @throws {RpcError} the program has not connected to its endpoints yet */
export function readyService<S>(name: string, found: S | undefined): S {
  if (found === undefined) throw new RpcError(SERVER_ERROR, `${name.toLowerCase()} is starting: it waits for its endpoints`);
  return found;
}

/** `health_status`, which op-service gives each of its servers. */
export const healthMethods = (version: string): MethodTable => ({
  health_status: method({ params: [], summary: "The version.", handler: () => version }),
});

/** `health_status`, and as administrator `admin_start…`, `admin_stop…` and `admin_setLogLevel`, as op-service has them. */
export function serviceMethods({ name, service, log, version, summaries }: ServiceMethodsDeps, enableAdmin: boolean): MethodTable {
  const health = healthMethods(version);
  if (!enableAdmin) return health;
  const refuseUnless = (isDone: boolean, reason: string): null => {
    if (!isDone) throw new RpcError(SERVER_ERROR, `${name.toLowerCase()} is ${reason}`);
    return null;
  };
  return {
    ...health,
    [`admin_start${name}`]: method({
      params: [],
      summary: summaries.start,
      handler: () => refuseUnless(readyService(name, service()).start(), "already running"),
    }),
    [`admin_stop${name}`]: method({
      params: [],
      summary: summaries.stop,
      handler: async () => refuseUnless(await readyService(name, service()).stop(), "not running"),
    }),
    admin_setLogLevel: method({
      params: [param("level", textShape)],
      summary: "Sets the lowest level that is logged.",
      handler: ([text]) => {
        const level = parseLogLevel(text);
        if (level === undefined) throw new RpcError(SERVER_ERROR, `unknown level: ${text}`);
        log.level = level;
        return null;
      },
    }),
  };
}
