import type { IncomingMessage, ServerResponse } from "node:http";
import { describeFailure } from "../failure.ts";
import { type SmallServer, startSmallServer } from "../small-server.ts";
import { NOT_IN_JAVASCRIPT } from "./profile-types.ts";
import type { Profiler, Recording } from "./profiler.ts";

const ROOT = "/debug/pprof/";
const DEFAULT_CPU_SEC = 30;
const DEFAULT_ALLOCS_SEC = 10;
const MAX_SEC = 600;

/** What Go's programs serve, and what answers here: a profile, or why there is none. */
const REFUSED: Readonly<Record<string, string>> = {
  ...NOT_IN_JAVASCRIPT,
  trace: "there is no execution trace: take profile",
  cmdline: "is not served: arguments may be secret",
  symbol: "is not needed: profiles contain all names",
};

const INDEX = `profiles, for "go tool pprof http://HOST:PORT${ROOT}NAME":
  profile    the processor's time, for ?seconds=${DEFAULT_CPU_SEC}
  heap       memory in use, allocated since the start; ?gc=1 collects garbage first
  allocs     memory allocated during ?seconds=${DEFAULT_ALLOCS_SEC}, in use or not; heap starts anew afterwards
  goroutine  what the event loop waits for, by kind
not here: ${Object.keys(REFUSED).join(", ")}
`;

/** Serves profiles where Go's tools look for them. @throws the listen error (EADDRINUSE…) */
export function startPprofServer(
  profiler: Profiler,
  listen: { readonly addr: string; readonly port: number },
): Promise<SmallServer> {
  let isRecording = false;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const say = (status: number, text: string): void =>
      void response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(`${text}\n`);
    const name = pathname.startsWith(ROOT) ? pathname.slice(ROOT.length) : undefined;
    if (pathname === "/" || name === "" || pathname === ROOT.slice(0, -1)) return say(200, INDEX.trimEnd());
    if (name === undefined) return say(404, `not found: GET ${ROOT}`);
    if (Object.hasOwn(REFUSED, name)) return say(501, `${name}: ${REFUSED[name]}`);
    const send = (profile: Uint8Array): void =>
      void response
        .writeHead(200, {
          "content-type": "application/octet-stream",
          "content-disposition": `attachment; filename="${name}.pb.gz"`,
        })
        .end(profile);
    /** One at a time: each costs time. */
    const record = async (start: () => Promise<Recording>, defaultSec: number): Promise<void> => {
      const seconds = Number(searchParams.get("seconds") ?? defaultSec);
      if (!(seconds > 0 && seconds <= MAX_SEC)) return say(400, `seconds: expected a number above 0, at most ${MAX_SEC}`);
      if (isRecording) return say(503, "another profile is being taken: try again when it has ended");
      isRecording = true;
      try {
        const recording = await start();
        await untilClosed(response, seconds * 1000);
        send(await recording.stop());
      } finally {
        isRecording = false;
      }
    };
    switch (name) {
      case "profile":
        return await record(() => profiler.cpu(), DEFAULT_CPU_SEC);
      case "allocs":
        return await record(() => profiler.allocs(), DEFAULT_ALLOCS_SEC);
      case "heap":
        return send(await profiler.heap(Number(searchParams.get("gc") ?? 0) > 0));
      case "goroutine":
        return send(profiler.goroutine());
      default:
        return say(404, `unknown profile; ${INDEX.trimEnd()}`);
    }
  };
  return startSmallServer(
    (request, response) => {
      if (request.method !== "GET") {
        response.writeHead(405, { "content-type": "text/plain" }).end("GET only\n");
        return;
      }
      answer(request, response).catch((error: unknown) => {
        const known = describeFailure(error);
        if (!response.headersSent) response.writeHead(known === undefined ? 500 : 503, { "content-type": "text/plain" });
        response.end(`${known ?? String(error)}\n`);
      });
    },
    { ...listen, idleMs: (MAX_SEC + 60) * 1000 },
  );
}

/** After the time, or as soon as nobody waits any more. */
async function untilClosed(response: ServerResponse, timeMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, timeMs);
    response.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
