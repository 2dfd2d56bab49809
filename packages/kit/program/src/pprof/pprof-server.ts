import type { ServerResponse } from "node:http";
import { NOT_IN_JAVASCRIPT } from "../options/profile-types.ts";
import { describeFailure } from "../process/failure.ts";
import { type SmallAnswer, type SmallServer, startSmallServer } from "../servers/small-server.ts";
import type { Profiler, Recording } from "./profiler.ts";

const ROOT = "/debug/pprof/";
const DEFAULT_CPU_SEC = 30;
const DEFAULT_ALLOCS_SEC = 10;
const MAX_SEC = 600;
/** Pause after an operation: this time, or PAUSE_FACTOR times the operation's CPU time. */
const MIN_PAUSE_MS = 1000;
const PAUSE_FACTOR = 10;

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
one at a time, with a pause of a second or more in between.
not here: ${Object.keys(REFUSED).join(", ")}
`;

/** Serves profiles where Go's tools look for them. @throws the listen error (EADDRINUSE…) */
export function startPprofServer(
  profiler: Profiler,
  { addr, port, vhosts }: { readonly addr: string; readonly port: number; readonly vhosts?: readonly string[] },
): Promise<SmallServer> {
  let isBusy = false;
  let freeFromMs = 0;
  const record =
    (start: () => Promise<Recording>, seconds: number): Take =>
    async (response) => {
      const recording = await start();
      const fromMs = performance.now();
      await untilClosed(response, seconds * 1000);
      const idleMs = performance.now() - fromMs;
      return { profile: await recording.stop(), idleMs };
    };
  /** The function that takes a profile, or the error in the query; `undefined`: no such profile. */
  const takerOf = (name: string, query: URLSearchParams): Take | string | undefined => {
    const given = Number(query.get("seconds") ?? 1);
    if (!(given > 0 && given <= MAX_SEC)) return `seconds: expected a number above 0, at most ${MAX_SEC}`;
    const secondsOr = (defaultSec: number): number => (query.has("seconds") ? given : defaultSec);
    switch (name) {
      case "profile":
        return record(() => profiler.cpu(), secondsOr(DEFAULT_CPU_SEC));
      case "allocs":
        return record(() => profiler.allocs(), secondsOr(DEFAULT_ALLOCS_SEC));
      case "heap":
        return async () => ({ profile: await profiler.heap(Number(query.get("gc") ?? 0) > 0), idleMs: 0 });
      case "goroutine":
        return async () => ({ profile: profiler.goroutine(), idleMs: 0 });
      default:
        return undefined;
    }
  };
  const answer: SmallAnswer = async ({ path, query }, response) => {
    const say = (status: number, text: string): void =>
      void response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(`${text}\n`);
    const name = path.startsWith(ROOT) ? path.slice(ROOT.length) : undefined;
    if (path === "/" || name === "" || path === ROOT.slice(0, -1)) return say(200, INDEX.trimEnd());
    if (name === undefined) return say(404, `not found: GET ${ROOT}`);
    if (Object.hasOwn(REFUSED, name)) return say(501, `${name}: ${REFUSED[name]}`);
    const take = takerOf(name, query);
    if (typeof take === "string") return say(400, take);
    if (take === undefined) return say(404, `unknown profile; ${INDEX.trimEnd()}`);
    const startMs = performance.now();
    if (isBusy || startMs < freeFromMs) {
      const waitSec = isBusy ? 1 : Math.ceil((freeFromMs - startMs) / 1000);
      response.setHeader("retry-after", waitSec);
      return say(503, isBusy ? "another profile is being taken: try again when it has ended" : `try again in ${waitSec} s`);
    }
    isBusy = true;
    let idleMs = 0;
    try {
      const taken = await take(response);
      idleMs = taken.idleMs;
      response.writeHead(200, {
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename="${name}.pb.gz"`,
      });
      response.end(taken.profile);
    } catch (error) {
      const known = describeFailure(error);
      if (known === undefined) throw error;
      say(503, known);
    } finally {
      const nowMs = performance.now();
      freeFromMs = nowMs + Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * (nowMs - startMs - idleMs));
      isBusy = false;
    }
  };
  return startSmallServer(answer, { addr, port, vhosts, vhostsOption: "pprof.vhosts", idleMs: (MAX_SEC + 60) * 1000 });
}

type Take = (response: ServerResponse) => Promise<Taken>;

interface Taken {
  readonly profile: Uint8Array;
  /** the part of the operation in which the program could work */
  readonly idleMs: number;
}

/** Resolves after the time, or when the client disconnects. */
async function untilClosed(response: ServerResponse, timeMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, timeMs);
    response.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
