import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/** Answers a request, now or when its promise is done. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/**
 * Every HTTP server of the programs runs its handler in this. A handler that throws or rejects answers status 500, or cuts the connection if
 * the head of the answer was sent. Without it, the error would end the process.
 *
 * @param onFault gets the error and the request's path
 */
export function guarded(handler: RequestHandler, onFault: (error: unknown, path: string) => void): RequestListener {
  return (request, response) =>
    void settle(
      () => handler(request, response),
      (error) => {
        onFault(error, (request.url ?? "").slice(0, 200));
        failResponse(response);
      },
    );
}

/** Runs a step, and passes its error to `onFault`, thrown or rejected. The returned promise never rejects. */
export async function settle(step: () => void | Promise<void>, onFault: (error: unknown) => void): Promise<void> {
  try {
    await step();
  } catch (error) {
    onFault(error);
  }
}

export function failResponse(response: ServerResponse): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response.writeHead(500, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end("internal error\n");
}

/** Path and query of a request's target, as sent: no target is malformed (`//`, `/%`, `*`). An absolute target loses scheme and host. */
export function targetOf({ url = "/" }: Pick<IncomingMessage, "url">): {
  readonly path: string;
  readonly query: URLSearchParams;
} {
  const local = url.replace(/^https?:\/\/[^/?#]*/i, "");
  const end = local.search(/[?#]/);
  const path = end < 0 ? local : local.slice(0, end);
  return { path: path === "" ? "/" : path, query: new URLSearchParams(end < 0 ? "" : local.slice(end + 1)) };
}
