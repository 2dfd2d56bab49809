import { connect, type Socket } from "node:net";

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** of an HTTP request, ascending, milliseconds */
  readonly latenciesMs: Float64Array;
  readonly bodyBytes: number;
  readonly errors: number;
}

/** HTTP requests ready to be sent: writing one costs no more than the copy into the socket. */
export function httpRequest(body: string): Buffer {
  const head = `POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.from(head + body);
}

export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  /** undefined: there are no more */
  readonly next: () => Buffer | undefined;
  readonly durationMs: number;
}

const HEAD_END = Buffer.from("\r\n\r\n");

/** Sends one request after the other on each of some connections, for a time or as long as there are requests. */
export async function runLoad({ port, connections, next, durationMs }: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = [];
  let bodyBytes = 0;
  let errors = 0;
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const startMs = performance.now();
  const endMs = startMs + durationMs;
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve, reject) => {
          let sentMs = 0;
          let head: Buffer = Buffer.alloc(0);
          /** bytes of the body still to come; −1: in the head */
          let missing = -1;
          const send = (): void => {
            const request = performance.now() < endMs ? next() : undefined;
            if (request === undefined) {
              socket.destroy();
              resolve();
              return;
            }
            sentMs = performance.now();
            socket.write(request);
          };
          socket.on("error", reject);
          socket.on("close", () => resolve());
          socket.on("data", (part: Buffer) => {
            if (missing === -1) {
              head = head.length === 0 ? part : Buffer.concat([head, part]);
              const at = head.indexOf(HEAD_END);
              if (at === -1) return;
              const text = head.toString("latin1", 0, at);
              const length = /content-length: *(\d+)/i.exec(text)?.[1];
              if (length === undefined) {
                reject(new Error(`answer without a length: ${text}`));
                return;
              }
              const begun = head.subarray(at + HEAD_END.length);
              if (begun.length > 0 && begun.includes('"error":')) errors++;
              bodyBytes += Number(length);
              missing = Number(length) - begun.length;
              head = Buffer.alloc(0);
            } else missing -= part.length;
            if (missing > 0) return;
            missing = -1;
            latencies.push(performance.now() - sentMs);
            send();
          });
          send();
        }),
    ),
  );
  const seconds = (performance.now() - startMs) / 1000;
  return { requests: latencies.length, seconds, latenciesMs: Float64Array.from(latencies).sort(), bodyBytes, errors };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => resolve(socket));
    socket.once("error", reject);
  });
}

/** @param sorted ascending */
export const percentile = (sorted: Float64Array, share: number): number =>
  sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
