import { once } from "node:events";
import { get, type IncomingHttpHeaders } from "node:http";
import { FeedSource, silentLogger } from "@rnode/observe";
import { optionTable, parseOptions, Readiness, Scope, systemClock, UserError } from "@rnode/program";
import { afterEach, describe, expect, it } from "vitest";
import { dashboardOptions } from "../options.ts";
import { type DashboardSource, startDashboardServer } from "./dashboard-server.ts";
import { FeedBroadcast } from "./feed-broadcast.ts";
import { type OpenedDashboard, openDashboard } from "./open-dashboard.ts";
import type { PageFiles } from "./page-files.ts";
import { type Upstream, UpstreamFeed } from "./upstream-feed.ts";

const table = optionTable({ program: "p", summary: "P.", envPrefix: "P_", groups: { dashboard: dashboardOptions(7400) } });
const file = (text: string, policy: string) => ({ type: "text/html", body: Buffer.from(text), isImmutable: false, policy });
const PAGE: PageFiles = new Map([
  ["/", file("<html>", "default-src 'none'")],
  ["/verifier/", file("<verifier>", "default-src 'self'")],
]);
const scopes: Scope[] = [];

afterEach(async () => {
  for (const scope of scopes.splice(0)) await scope.close();
});

function newScope(): Scope {
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  scopes.push(scope);
  return scope;
}

async function open(args: readonly string[], readiness = new Readiness("v1")): Promise<OpenedDashboard & { readonly url: string }> {
  const parsed = parseOptions(table, args, {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  let url = "";
  const log = { ...silentLogger, info: (_: string, fields: { readonly url: string }) => void (url = fields.url) };
  const deps = { name: "rnode", version: "v1", scope: newScope(), log: log as never, clock: systemClock, readiness } as const;
  return { ...(await openDashboard(parsed.options.dashboard, deps, () => PAGE)), url };
}

async function startServer(source: DashboardSource, vhosts: readonly string[] = ["localhost"]): Promise<string> {
  const scope = newScope();
  const { port } = await scope.use(
    "server",
    () => startDashboardServer({ addr: "127.0.0.1", port: 0, vhosts }, PAGE, source),
    (server) => server.close(),
  );
  return `http://127.0.0.1:${port}/`;
}

function answerOf(
  url: string,
  headers: Record<string, string>,
  method = "GET",
): Promise<{ status: number; headers: IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { headers, method, agent: false }, (response) => {
      resolve({ status: response.statusCode!, headers: response.headers });
      response.destroy();
    });
    asked.once("error", reject);
  });
}

interface Received {
  readonly event: string;
  readonly message: { readonly entries: readonly (readonly [string, unknown, unknown])[]; readonly [name: string]: unknown };
}

/** Reads a feed until `isEnough`. */
async function readFeed(url: string, isEnough: (received: readonly Received[]) => boolean): Promise<readonly Received[]> {
  const received: Received[] = [];
  const asked = get(`${url}feed`, { agent: false });
  const [response] = await once(asked, "response");
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response) {
    text += chunk;
    const events = text.split("\n\n");
    text = events.pop()!;
    for (const event of events) {
      const [, name, json] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
      if (json !== undefined) received.push({ event: name!, message: JSON.parse(json) });
    }
    if (isEnough(received)) break;
  }
  asked.destroy();
  return received;
}

describe("the dashboard of a program", () => {
  it("--dashboard is off by default, and then nothing is remembered", async () => {
    const { feed, sample, url } = await open([]);
    feed.put("block", 1, {});
    sample();
    expect([url, feed.isWatched]).toEqual(["", false]);
  });

  it("--dashboard.port and --dashboard.addr say where it listens; a taken port is named", async () => {
    const { url } = await open(["--dashboard", "--dashboard.port=0", "--dashboard.addr=127.0.0.2"]);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.2:\d+\/$/);
    const page = await fetch(url);
    expect([page.status, await page.text()]).toEqual([200, "<html>"]);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    const taken = open(["--dashboard", `--dashboard.port=${new URL(url).port}`, "--dashboard.addr=127.0.0.2"]);
    await expect(taken).rejects.toThrow(UserError);
    await expect(taken).rejects.toThrow("--dashboard.port");
  });

  it("serves addresses and the names of --dashboard.vhosts, and no page of another site", async () => {
    const { url } = await open(["--dashboard", "--dashboard.port=0", "--dashboard.vhosts=node.example"]);
    const statusOf = async (headers: Record<string, string>, method?: string) => (await answerOf(url, headers, method)).status;
    expect(await statusOf({ host: "127.0.0.1:7400" })).toBe(200);
    expect(await statusOf({ host: "node.example" })).toBe(200);
    expect(await statusOf({ host: "rebound.example" })).toBe(403);
    expect(await statusOf({ origin: "https://other.example" })).toBe(403);
    expect(await statusOf({ origin: new URL(url).origin })).toBe(200);
    expect(await statusOf({}, "POST")).toBe(405);
    expect((await answerOf(`${url}etc/passwd`, {})).status).toBe(404);
    expect((await answerOf(`${url}feed`, { host: "rebound.example" })).status).toBe(403);
  });

  it("serves the verifier's page below /verifier/, with a policy of its own", async () => {
    const { url } = await open(["--dashboard", "--dashboard.port=0"]);
    for (const path of ["verifier/", "verifier/?node=http://127.0.0.1:8545", "verifier"]) {
      const page = await fetch(`${url}${path}`);
      expect([page.status, await page.text(), new URL(page.url).pathname]).toEqual([200, "<verifier>", "/verifier/"]);
      expect(page.headers.get("content-security-policy")).toBe("default-src 'self'");
    }
    expect((await answerOf(`${url}verifier`, { host: "rebound.example" })).status).toBe(403);
    expect((await answerOf(`${url}verifier/nothing`, {})).status).toBe(404);
  });

  it("shows what is remembered, what changes, the state, and why it is not ready", async () => {
    const readiness = new Readiness("v1");
    readiness.expect(() => ["finding the heads"]);
    const { url, feed, sample } = await open(["--dashboard", "--dashboard.port=0"], readiness);
    let reads = 0;
    feed.state("sync", () => ({ reads: ++reads }));
    feed.sampled("heads", () => ({ safe: 7 }));
    feed.put("l1", 5, { number: 5 });
    sample();
    expect(reads).toBe(0);
    const received = await readFeed(url, (messages) => {
      if (messages.length === 3) feed.put("l1", 6, { number: 6 });
      return messages.some(({ message }) => message.entries?.some(([kind, key]) => kind === "l1" && key === 6));
    });
    expect(received[0]).toMatchObject({ event: "program", message: { id: "rnode", kind: "rnode", version: "v1" } });
    const entries = received.slice(1).flatMap(({ message }) => message.entries);
    expect(entries[0]).toEqual(["l1", 5, { number: 5 }]);
    expect(entries).toContainEqual(["heads", expect.any(Number), { safe: 7 }]);
    expect(entries).toContainEqual(["state", "health", { isReady: false, reasons: ["finding the heads"] }]);
    expect(entries).toContainEqual(["state", "sync", { reads: 1 }]);
    await expect.poll(() => feed.isWatched).toBe(false);
  });
});

describe("a feed", () => {
  it("disconnects a page that does not read", async () => {
    let sent = 0;
    let hasEnded = false;
    const url = await startServer({
      watch: (viewer) => {
        const timer = setInterval(() => {
          for (let i = 0; i < 10; i++, sent++) viewer.send("feed", JSON.stringify("x".repeat(100_000)));
        }, 1);
        return () => {
          hasEnded = true;
          clearInterval(timer);
        };
      },
    });
    const asked = get(`${url}feed`, { agent: false }, (response) => response.pause());
    asked.on("error", () => {});
    await expect.poll(() => hasEnded).toBe(true);
    // the buffers of both sockets, and a few megabytes
    expect(sent).toBeLessThan(1_000);
    asked.destroy();
  });

  it("runs no timer while nobody looks", () => {
    const feed = new FeedSource();
    const clock = systemClock;
    const broadcast = new FeedBroadcast(
      { id: "a", name: "a", kind: "rnode", version: "", startedMs: 0 },
      { feed, clock, health: () => ({ isReady: true, reasons: [] }) },
    );
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    const end = broadcast.watch({ send: () => {} });
    expect(timers()).toBe(before + 1);
    end();
    expect([timers(), feed.isWatched]).toEqual([before, false]);
  });
});

describe("one page for several programs", () => {
  const upstream = (url: string | undefined, downBecause?: string): Upstream => ({
    id: "sequencerNode",
    name: "sequencer rnode",
    kind: "rnode",
    url,
    downBecause: () => downBecause,
  });
  const pageOf = (...upstreams: Upstream[]) =>
    startServer({
      watch: (viewer) => {
        const feeds = upstreams.map((one) => new UpstreamFeed(one, viewer));
        return () => {
          for (const feed of feeds) feed.close();
        };
      },
    });

  it("passes feeds on under the names that the programs have here", async () => {
    const program = await open(["--dashboard", "--dashboard.port=0"]);
    program.feed.put("l1", 5, { number: 5 });
    const url = await pageOf(upstream(program.url));
    const received = await readFeed(url, (messages) => messages.some(({ event }) => event === "feed"));
    expect(received.slice(0, 3).map(({ event }) => event)).toEqual(["expected", "program", "feed"]);
    expect(received[1]!.message).toMatchObject({ id: "sequencerNode", name: "sequencer rnode", version: "v1" });
    expect(received[2]!.message).toMatchObject({ id: "sequencerNode", entries: [["l1", 5, { number: 5 }]] });
    await expect.poll(() => program.feed.isWatched).toBe(false);
  });

  it("says that a program is down, and why", async () => {
    const gone = await startServer({ watch: () => () => {} });
    await scopes.pop()!.close();
    for (const [one, reason] of [
      [upstream(gone, "it was ended by SIGKILL"), "it was ended by SIGKILL"],
      [upstream(gone), expect.stringContaining("ECONNREFUSED")],
      [upstream(undefined, "it ended with code 1"), "it ended with code 1"],
    ] as const) {
      const received = await readFeed(await pageOf(one), (messages) => messages.some(({ event }) => event === "down"));
      expect(received.at(-1)!.message).toEqual({ id: "sequencerNode", name: "sequencer rnode", kind: "rnode", reasons: [reason] });
    }
  });
});
