import { type CodedError, codedErrors, isCodedError } from "@rnode/primitives";

/** Codes of JSON-RPC 2.0 itself. */
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
/** The code of Go servers for an application error without a specific code. */
export const SERVER_ERROR = -32000;
/** EIP-1474: a request beyond a limit of the server, which may be granted later. */
export const LIMIT_EXCEEDED = -32005;

export interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A JSON-RPC error object: a server's answer, or a handler's. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown, options?: ErrorOptions) {
    super(message, options);
    this.name = "RpcError";
    this.code = code;
    this.data = data;
  }

  toBody(): RpcErrorBody {
    return this.data === undefined
      ? { code: this.code, message: this.message }
      : { code: this.code, message: this.message, data: this.data };
  }
}

export const rpcErrorOf = ({ code, message, data }: RpcErrorBody): RpcError => new RpcError(code, message, data);

export interface RpcErrorRule {
  /** a code, or a family such as "driver/"; other errors stay as they are. Default: all coded errors */
  readonly only?: string;
  /** default: `SERVER_ERROR` */
  readonly code?: number;
  /** by the error's code, instead of `code` */
  readonly codes?: Readonly<Record<string, number>>;
  /** default: the error's own message */
  readonly message?: (error: CodedError) => string;
}

/** The answer to a request that failed with a coded error, for `throw toRpcError(error)`. Any other value is returned unchanged. */
export function toRpcError(error: unknown, { only, code = SERVER_ERROR, codes, message }: RpcErrorRule = {}): unknown {
  if (!isCodedError(error, only)) return error;
  return new RpcError(codes?.[error.code] ?? code, message?.(error) ?? error.message, undefined, { cause: error });
}

/** Does work for a request. @throws {RpcError} the work failed with a coded error that the rule answers */
export async function withRpcErrors<T>(work: () => T | Promise<T>, rule?: RpcErrorRule): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toRpcError(error, rule);
  }
}

/** A client no longer has a block: EIP-4444. */
const HISTORY_PRUNED = 4444;
const BLOCK_IS_GONE = /pruned history|^(?:the )?(?:block|header) not found|^unknown block/i;

/** Whether the answer to a request for a block says that the client does not have it, or no longer. Other clients answer null. */
export const saysBlockIsGone = ({ code, message }: RpcError): boolean => code === HISTORY_PRUNED || BLOCK_IS_GONE.test(message);

/**
 * Why no answer of the server reached us. `data` holds the endpoint (without credentials or path) and the method; for
 * rpc/http-status also `status` and the start of the body.
 */
export type RpcTransportCode =
  | "rpc/timeout"
  | "rpc/unreachable"
  | "rpc/http-status"
  | "rpc/bad-response"
  | "rpc/response-too-large"
  | "rpc/aborted"
  | "rpc/closed";

export class RpcTransportError extends codedErrors<RpcTransportCode>({
  "rpc/timeout": "{endpoint} did not answer {method} within {timeoutMs} ms",
  "rpc/unreachable": "{endpoint} cannot be reached for {method}: {reason}",
  "rpc/http-status": "{endpoint} answered {method} with HTTP status {status}: {body}",
  "rpc/bad-response": "{endpoint} answered {method} with what is no answer to it: {reason}",
  "rpc/response-too-large": "the answer of {endpoint} to {method} is longer than {maxBytes} bytes",
  "rpc/aborted": "{method} at {endpoint} was given up",
  "rpc/closed": "{method} at {endpoint} was given up: the connection is being closed",
}) {}
