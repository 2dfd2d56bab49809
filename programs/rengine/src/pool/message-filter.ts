import { createRpcClient, METHOD_NOT_FOUND, RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { bytesToHex, toQuantity } from "@rnode/primitives";
import type { SafetyLevel } from "./safety-levels.ts";

/** When messages are executed, and how long they must stay valid after that. */
export interface Execution {
  readonly timestampSec: number;
  readonly timeoutSec: number;
}

/** What one filter says of the messages of a transaction. Spec: docs/protocol/04-rpc.md#interop-filter-errors */
export type FilterAnswer =
  | { readonly kind: "valid" }
  | { readonly kind: "refused"; readonly error: RpcError }
  /** the filter refuses all messages for now */
  | { readonly kind: "failsafe"; readonly error: RpcError }
  /** no verdict: `error` if the filter said why, such as that it has not read the message's block yet */
  | { readonly kind: "unavailable"; readonly reason: string; readonly error?: RpcError };

export interface MessageFilter {
  /** for logs: without credentials and path */
  readonly endpoint: string;
  /** Never rejects. @param signal ends the request: its answer is not needed any more */
  check(storageKeys: readonly Uint8Array[], execution: Execution, signal: AbortSignal): Promise<FilterAnswer>;
  /** Whether it refuses all messages for now; `undefined` without an answer. Never rejects. */
  isInFailsafe(signal: AbortSignal): Promise<boolean | undefined>;
  close(): Promise<void>;
}

/** A check is a look-up in the filter's database; one that takes longer is no use to a block builder. */
const CHECK_TIMEOUT_MS = 2_000;
const MAX_CONNECTIONS = 16;
/** An answer is null, or an error. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** of an error's text in logs and in our own errors */
const SHOWN_CHARACTERS = 200;

const METHOD = "interop_checkAccessList";
/** That of supervisors, which are gone upstream. It knows no chain id. */
const OLD_METHOD = "supervisor_checkAccessList";

const FAILSAFE_METHOD = "admin_getFailsafeEnabled";

export const FAILSAFE = -320602;
/** Errors that are no verdict about the messages. */
const NO_VERDICT: ReadonlySet<number> = new Set([
  -320400, // the chain's database is not ready yet
  -320901, // a replacement block is awaited
  -321100, // the filter has not read the message's block yet, or not verified it yet
  -321401, // future data
  -32700, // the server, or a proxy in front of it, did not read the request
  -32600,
  METHOD_NOT_FOUND,
  -32603, // internal error
  -32005, // too many requests
]);

/** `interop_checkAccessList` at an endpoint. Spec: docs/protocol/05-services.md#interop-filters */
export function createMessageFilter(
  url: string,
  { chainId, minSafety }: { readonly chainId: bigint; readonly minSafety: SafetyLevel },
): MessageFilter {
  const client = createRpcClient({
    url,
    timeoutMs: CHECK_TIMEOUT_MS,
    maxConcurrency: MAX_CONNECTIONS,
    maxResponseBytes: MAX_ANSWER_BYTES,
  });
  let method = METHOD;
  const ask = (storageKeys: readonly Uint8Array[], execution: Execution, signal: AbortSignal): Promise<unknown> => {
    const times = { timestamp: toQuantity(execution.timestampSec), timeout: toQuantity(execution.timeoutSec) };
    const executing = method === METHOD ? { chainID: String(chainId), ...times } : times;
    return client.call(method, [storageKeys.map((key) => bytesToHex(key)), minSafety, executing], { signal });
  };
  return {
    endpoint: client.endpoint,
    async check(storageKeys, execution, signal) {
      try {
        const result = await ask(storageKeys, execution, signal).catch((error: unknown) => {
          if (!isUnknownMethod(error)) throw error;
          method = method === METHOD ? OLD_METHOD : METHOD;
          return ask(storageKeys, execution, signal);
        });
        return result === null ? { kind: "valid" } : { kind: "unavailable", reason: "its answer is neither null nor an error" };
      } catch (error) {
        return answerOf(error);
      }
    },
    async isInFailsafe(signal) {
      const answer = await client.call(FAILSAFE_METHOD, [], { signal }).catch((error: unknown) => {
        if (!(error instanceof RpcError || error instanceof RpcTransportError)) throw error;
      });
      return typeof answer === "boolean" ? answer : undefined;
    },
    close: () => client.close(),
  };
}

const isUnknownMethod = (error: unknown): boolean => error instanceof RpcError && error.code === METHOD_NOT_FOUND;

/** @throws what is no answer of the filter: a fault of this program */
function answerOf(error: unknown): FilterAnswer {
  if (error instanceof RpcTransportError) return { kind: "unavailable", reason: error.message };
  if (!(error instanceof RpcError)) throw error;
  if (error.code === FAILSAFE) return { kind: "failsafe", error };
  return NO_VERDICT.has(error.code)
    ? { kind: "unavailable", reason: `${error.message.slice(0, SHOWN_CHARACTERS)} (${error.code})`, error }
    : { kind: "refused", error };
}
