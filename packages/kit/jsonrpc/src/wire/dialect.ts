import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  type RpcErrorBody,
  SERVER_ERROR,
} from "./rpc-error.ts";

/**
 * A server's texts of request errors. The codes are the same unless noted. Spec:
 * docs/protocol/04-rpc.md#rollup-node-server-transport, docs/protocol/04-rpc.md#protocol-level
 */
export interface RpcDialect {
  readonly parseError: (detail: string) => RpcErrorBody;
  readonly invalidRequest: (detail: string) => RpcErrorBody;
  readonly methodNotFound: (method: string) => RpcErrorBody;
  readonly missingArgument: (index: number, name: string) => RpcErrorBody;
  readonly invalidArgument: (index: number, name: string, detail: string) => RpcErrorBody;
  /** `undefined`: extra arguments are ignored */
  readonly tooManyArguments: ((most: number) => RpcErrorBody) | undefined;
  readonly requestTooLarge: (limitBytes: number) => RpcErrorBody;
  readonly batchTooLarge: (limit: number) => RpcErrorBody;
  readonly responseTooLarge: (limitBytes: number) => RpcErrorBody;
  readonly subscriptionOverHttp: (method: string) => RpcErrorBody;
  readonly unknownSubscription: (namespace: string, kind: string, known: readonly string[]) => RpcErrorBody;
  /** `undefined`: the answer is `false` */
  readonly subscriptionNotFound: RpcErrorBody | undefined;
  readonly tooManySubscriptions: (limit: number) => RpcErrorBody;
  /** requests by POST are answered at every path, not only at `/` */
  readonly servesEveryPath: boolean;
  /** the body of the HTTP answer to a notification */
  readonly notificationBody: "" | "null";
  /** a handler failed unexpectedly; the log has the reason */
  readonly handlerFailed: RpcErrorBody;
}

/** Texts of Go's servers: op-node and the Geth family. */
export const GO_DIALECT: RpcDialect = {
  parseError: (detail) => ({ code: PARSE_ERROR, message: `parse error: ${detail}` }),
  invalidRequest: (detail) => ({
    code: INVALID_REQUEST,
    message: detail === "empty batch" ? detail : `invalid request: ${detail}`,
  }),
  methodNotFound: (method) => ({ code: METHOD_NOT_FOUND, message: `the method ${method} does not exist/is not available` }),
  missingArgument: (index, name) => ({
    code: INVALID_PARAMS,
    message: `missing value for required argument ${index}`,
    data: { param: name },
  }),
  invalidArgument: (index, name, detail) => ({ code: INVALID_PARAMS, message: `invalid argument ${index}: ${name}: ${detail}` }),
  tooManyArguments: (most) => ({ code: INVALID_PARAMS, message: `too many arguments, want at most ${most}` }),
  requestTooLarge: (limitBytes) => ({ code: INVALID_REQUEST, message: `content length too large (limit ${limitBytes} bytes)` }),
  batchTooLarge: (limit) => ({ code: INVALID_REQUEST, message: "batch too large", data: { limit } }),
  responseTooLarge: (limitBytes) => ({ code: -32003, message: "response too large", data: { limitBytes } }),
  subscriptionOverHttp: () => ({ code: METHOD_NOT_FOUND, message: "notifications not supported" }),
  unknownSubscription: (namespace, kind) => ({
    code: METHOD_NOT_FOUND,
    message: `no "${kind}" subscription in ${namespace} namespace`,
  }),
  subscriptionNotFound: { code: SERVER_ERROR, message: "subscription not found" },
  tooManySubscriptions: (limit) => ({ code: SERVER_ERROR, message: `too many subscriptions on this connection, limit ${limit}` }),
  servesEveryPath: false,
  notificationBody: "",
  handlerFailed: { code: INTERNAL_ERROR, message: "method handler crashed" },
};

/** Texts of Rust's servers: the Reth family. */
export const RUST_DIALECT: RpcDialect = {
  parseError: () => ({ code: PARSE_ERROR, message: "Parse error" }),
  invalidRequest: (detail) => ({ code: INVALID_REQUEST, message: "Invalid request", data: detail }),
  methodNotFound: () => ({ code: METHOD_NOT_FOUND, message: "Method not found" }),
  missingArgument: (_, name) => ({ code: INVALID_PARAMS, message: "Invalid params", data: `missing parameter ${name}` }),
  invalidArgument: (_, name, detail) => ({ code: INVALID_PARAMS, message: "Invalid params", data: `${name}: ${detail}` }),
  tooManyArguments: undefined,
  requestTooLarge: (limitBytes) => ({ code: -32007, message: "Request is too big", data: `Exceeded max limit of ${limitBytes}` }),
  batchTooLarge: (limit) => ({ code: -32010, message: "The batch request was too large", data: `Exceeded max limit of ${limit}` }),
  responseTooLarge: (limitBytes) => ({ code: -32008, message: "Response is too big", data: `Exceeded max limit of ${limitBytes}` }),
  subscriptionOverHttp: () => ({ code: METHOD_NOT_FOUND, message: "Method not found" }),
  unknownSubscription: (_, kind, known) => ({
    code: INVALID_PARAMS,
    message: `unknown variant \`${kind}\`, expected one of ${known.map((name) => `\`${name}\``).join(", ")}`,
  }),
  subscriptionNotFound: undefined,
  tooManySubscriptions: (limit) => ({
    code: -32006,
    message: "Too many subscriptions on the connection",
    data: `Exceeded max limit of ${limit}`,
  }),
  servesEveryPath: true,
  notificationBody: "null",
  handlerFailed: { code: INTERNAL_ERROR, message: "Internal error" },
};
