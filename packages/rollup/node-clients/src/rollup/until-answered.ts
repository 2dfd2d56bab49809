import { RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { errorText, type Logger } from "@rnode/observe";
import { Backoff, type Clock, retry } from "@rnode/primitives";
import { RollupClientError } from "./rollup-client-error.ts";

const RETRY_MS = 2000;
const METHOD_NOT_FOUND = -32601;
const UNAUTHORIZED = 401;

/** An endpoint as its user knows it. */
interface NamedEndpoint {
  /** with its dashes: `--rollup-rpc` */
  readonly option: string;
  /** the expected kind of endpoint, for messages: "rollup node" */
  readonly what: string;
  /** its address, without credentials */
  readonly address: string;
}

interface WaitingDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** called with the endpoint that the program waits for */
  readonly onWait: (what: string) => void;
}

/**
 * Asks an endpoint that may not be up yet until there is an answer. @returns undefined if it was closed meanwhile
 *
 * @param isFinal errors of `ask` that no waiting mends: they are thrown
 * @throws {RollupClientError} rollup-client/wrong-endpoint: no waiting helps
 */
export async function untilAnswered<T>(
  ask: () => Promise<T>,
  { option, what, address }: NamedEndpoint,
  { clock, log, signal, onWait }: WaitingDeps,
  isFinal: (error: unknown) => boolean = () => false,
): Promise<T | undefined> {
  onWait(`${what} ${address}`);
  if (signal.aborted) return undefined;
  let lastText = "";
  const onFailure = (error: unknown): void => {
    if (isFinal(error)) throw error;
    const got = whyWrongEndpoint(error);
    if (got !== undefined) {
      const data = { option, endpoint: address, expected: what, got };
      throw new RollupClientError("rollup-client/wrong-endpoint", data, { cause: error });
    }
    const text = errorText(error);
    if (text !== lastText) log.warn("waiting for an endpoint", { what, endpoint: address, error: text });
    lastText = text;
  };
  const backoff = new Backoff({ firstMs: RETRY_MS, maxMs: RETRY_MS });
  return retry(ask, { backoff, clock, signal, onFailure }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    return undefined;
  });
}

/** Why the answer shows another kind of endpoint than the option requires; undefined if the endpoint may only be starting. */
function whyWrongEndpoint(error: unknown): string | undefined {
  const said =
    error instanceof RpcError || error instanceof RpcTransportError ? error : error instanceof Error ? error.cause : undefined;
  if (said instanceof RpcError && said.code === METHOD_NOT_FOUND) return `"${said.message}", as another kind of node answers`;
  if (said instanceof RpcTransportError && said.code === "rpc/http-status" && said.data.status === UNAUTHORIZED) {
    return `HTTP 401 (${said.data.body}), as the authenticated port of an execution client answers`;
  }
  return undefined;
}
