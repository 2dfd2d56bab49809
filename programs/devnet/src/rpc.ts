/** The server answered with an error. */
class RpcCallError extends Error {
  readonly code: number;

  constructor(method: string, code: number, message: string) {
    super(`${method}: ${message} (${code})`);
    this.code = code;
  }
}

/**
 * One JSON-RPC call over HTTP, for methods that viem does not have.
 * @throws {RpcCallError} the server answered with an error; any other error: it did not answer
 */
export async function rpcCall<T>(url: string, method: string, params: readonly unknown[] = [], timeoutMs = 10_000): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const answer = (await response.json()) as { result?: T; error?: { code: number; message: string } };
  if (answer.error) throw new RpcCallError(method, answer.error.code, answer.error.message);
  return answer.result as T;
}
