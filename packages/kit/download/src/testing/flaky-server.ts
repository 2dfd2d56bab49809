import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface FlakyServer {
  readonly url: string;
  /** `Range` of each request so far */
  readonly ranges: (string | undefined)[];
  close(): Promise<void>;
}

export interface FlakyOptions {
  /** number of sent bytes of an answer before the connection breaks; `undefined`: all */
  readonly breaksAfter?: ((request: number) => number | undefined) | undefined;
  /** changes the sent bytes, but not the file */
  readonly alter?: ((bytes: Uint8Array, request: number, from: number) => Uint8Array) | undefined;
  /** the whole answer in place of the file */
  readonly answer?: ((request: number, response: ServerResponse) => boolean) | undefined;
  readonly knowsRanges?: boolean | undefined;
  /** version that is sent as ETag */
  readonly etag?: ((request: number) => string) | undefined;
}

/** Serves a file on loopback, with the faults that a network has. */
export async function startFlakyServer(file: () => Uint8Array, options: FlakyOptions = {}): Promise<FlakyServer> {
  const ranges: (string | undefined)[] = [];
  const server = createServer((request, response) => serve(file(), options, ranges, request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/state.snap`,
    ranges,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function serve(
  file: Uint8Array,
  { breaksAfter, alter, answer, knowsRanges = true, etag }: FlakyOptions,
  ranges: (string | undefined)[],
  { headers }: IncomingMessage,
  response: ServerResponse,
): void {
  const index = ranges.push(headers.range) - 1;
  if (answer?.(index, response) === true) return;
  const from = knowsRanges && headers.range !== undefined ? Number(/^bytes=(\d+)-$/.exec(headers.range)![1]) : 0;
  if (etag !== undefined) response.setHeader("etag", etag(index));
  if (from >= file.length && from > 0) {
    response.writeHead(416, { "content-range": `bytes */${file.length}` }).end();
    return;
  }
  const range = from > 0 ? { "content-range": `bytes ${from}-${file.length - 1}/${file.length}` } : {};
  response.writeHead(from > 0 ? 206 : 200, { "content-length": file.length - from, ...range });
  const body = file.subarray(from);
  const sent = alter?.(body.slice(), index, from) ?? body;
  const limit = breaksAfter?.(index);
  if (limit === undefined || limit >= sent.length) response.end(sent);
  else response.write(sent.subarray(0, limit), () => response.destroy());
}
