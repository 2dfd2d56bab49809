import {
  anyJson,
  type MethodTable,
  method,
  optionalParam,
  param,
  RpcError,
  readyService,
  serviceMethods,
  textShape,
} from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import { parseDurationMs } from "@rnode/program";
import type { BatchSubmitter } from "./batch-submitter.ts";
import type { Throttle } from "./throttle/throttle.ts";
import { type PidGains, THROTTLE_CONTROLLERS } from "./throttle/throttle-controller.ts";

const SERVER_ERROR = -32000;

export interface AdminDeps {
  /** undefined until the endpoints are known */
  readonly submitter: () => Pick<BatchSubmitter, "start" | "stop" | "flush"> | undefined;
  /** undefined until the endpoints are known, or if throttling is off */
  readonly throttle: () => Pick<Throttle, "info" | "setController" | "reset"> | undefined;
  readonly log: Logger;
  readonly version: string;
}

/** Methods of the batcher's own server. Spec: docs/protocol/05-services.md#batcher-rpc */
export function batcherMethods({ submitter, throttle, log, version }: AdminDeps, enableAdmin: boolean): MethodTable {
  const summaries = {
    start: "Begins to publish.",
    stop: "Stops publishing; answers once transactions under way are included or the time for it is over.",
  };
  const common = serviceMethods({ name: "Batcher", service: submitter, log, version, summaries }, enableAdmin);
  if (!enableAdmin) return common;
  const throttling = (): Pick<Throttle, "info" | "setController" | "reset"> => {
    const found = throttle();
    if (found === undefined) {
      throw new RpcError(
        SERVER_ERROR,
        "throttling is off (--throttle.unsafe-da-bytes-lower-threshold=0), or the batcher is starting",
      );
    }
    return found;
  };
  return {
    ...common,
    admin_getThrottleController: method({
      params: [],
      summary: "How block builders are throttled now.",
      handler: () => throttling().info(),
    }),
    admin_setThrottleController: method({
      params: [param("type", textShape), optionalParam("pid", anyJson)],
      summary: "Throttles by another controller: step, linear, quadratic or pid, the latter with its weights.",
      handler: ([name, pid]) => {
        const type = THROTTLE_CONTROLLERS.find((each) => each === name);
        if (type === undefined) {
          throw new RpcError(SERVER_ERROR, `unknown controller: ${name}, expected one of ${THROTTLE_CONTROLLERS.join(", ")}`);
        }
        throttling().setController(type, pid === undefined || pid === null ? undefined : pidGains(pid));
        return null;
      },
    }),
    admin_resetThrottleController: method({
      params: [],
      summary: "Forgets what the controller has seen, and its limits.",
      handler: () => {
        throttling().reset();
        return null;
      },
    }),
    admin_flushBatcher: method({
      params: [],
      summary: "Publishes all blocks there are without waiting for channels to fill.",
      handler: () => {
        if (!readyService("Batcher", submitter()).flush()) throw new RpcError(SERVER_ERROR, "batcher is not running");
        return null;
      },
    }),
  };
}

/** As upstream's `PIDConfig`; `sample_time` is a duration as text or nanoseconds. */
function pidGains(json: unknown): PidGains {
  const object = typeof json === "object" && json !== null ? (json as Readonly<Record<string, unknown>>) : {};
  const number = (name: string, expects: string, isValid: (value: number) => boolean): number => {
    const value = object[name];
    if (typeof value === "number" && isValid(value)) return value;
    throw new RpcError(SERVER_ERROR, `pid.${name}: expected ${expects}, found ${JSON.stringify(value) ?? "nothing"}`);
  };
  const weight = (name: string): number => number(name, "a number, 0 or more", (value) => value >= 0);
  const time = object.sample_time;
  const sampleTimeMs = typeof time === "string" ? parseDurationMs(time) : typeof time === "number" ? time / 1e6 : undefined;
  if (sampleTimeMs === undefined || sampleTimeMs <= 0) {
    throw new RpcError(SERVER_ERROR, 'pid.sample_time: expected a duration above 0 such as "2s"');
  }
  return {
    kp: weight("kp"),
    ki: weight("ki"),
    kd: weight("kd"),
    integralMax: number("integral_max", "a number above 0", (value) => value > 0),
    outputMax: number("output_max", "a number above 0 and at most 1", (value) => value > 0 && value <= 1),
    sampleTimeMs,
  };
}
