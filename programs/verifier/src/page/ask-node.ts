const TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 512 << 20;

export type Ask = <T>(method: string, params: readonly unknown[]) => Promise<T>;

/** Calls methods of a node. It must allow this page's origin (--http.corsdomain). */
export function askNode(url: string): Ask {
  let id = 0;
  return async <T>(method: string, params: readonly unknown[]): Promise<T> => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((cause: unknown) => {
      throw new Error(`${url} does not answer, or does not allow this page (--http.corsdomain)`, { cause });
    });
    if (Number(response.headers.get("content-length") ?? 0) > MAX_ANSWER_BYTES) throw new Error(`${url}: the answer is too large`);
    const { result, error } = (await response.json()) as { result?: T; error?: { message?: string } };
    if (error !== undefined) throw new Error(`${url} answers ${method} with: ${error.message ?? "an error"}`);
    return result as T;
  };
}
