import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createMetrics, type LogFields, type Logger, type LogLevel, silentLogger } from "@rnode/observe";
import { type Clock, CodedError } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type NetworkRun, NetworkThread, restartDelayMs } from "./network-thread.ts";
import { ThreadHost } from "./thread-host.ts";

// Both ends as built: the program in the thread loads built files.

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAM = pathToFileURL(join(PACKAGE, "test-programs/plain-network.mjs"));
const LOST = "the thread was lost";
const AGAIN = "it runs again";

interface Plain {
  readonly config: { readonly name: string; readonly port: number; readonly fails?: boolean };
  readonly identity: { readonly name: string; readonly port: number };
  readonly to: { readonly id: number; readonly what: string; readonly bytes?: Uint8Array; readonly [more: string]: unknown };
  readonly from: { readonly told: string };
}

/** A clock that does not advance; sleeps take no time unless they are `held`. */
class Time implements Clock {
  readonly sleeps: number[] = [];
  now = 1_000_000;
  held: Promise<void> = Promise.resolve();
  unixMs(): number {
    return this.now;
  }

  monotonicMs(): number {
    return this.now;
  }
  async sleep(ms: number): Promise<void> {
    this.sleeps.push(ms);
    await this.held;
  }
}

const threads: NetworkThread<Plain>[] = [];
beforeAll(() => {
  const built = spawnSync(join(PACKAGE, "../../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (built.error !== undefined) throw built.error;
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(threads.splice(0).map((thread) => thread.close()));
});

const newHost = () => new ThreadHost({ program: PROGRAM, execArgv: [], memory: { maxOldGenerationSizeMb: 64 } });

async function start(over: { clock?: Clock; fails?: boolean; maxCalls?: number; host?: ThreadHost } = {}) {
  const { clock = systemClock, fails = false, maxCalls = 4, host = newHost() } = over;
  const lines: { level: string; text: string; fields: LogFields }[] = [];
  const line =
    (level: string) =>
    (text: string, fields: LogFields = {}) =>
      void lines.push({ level, text, fields });
  const log = { ...silentLogger, level: "info" as LogLevel, error: line("error"), info: line("info"), debug: line("debug") };
  const metrics = createMetrics({ prefix: "", ofProcess: false });
  const told: string[] = [];
  const ports: number[] = [];
  const onLost = vi.fn();
  const thread: NetworkThread<Plain> = new NetworkThread<Plain>(
    {
      config: { name: "plain", port: 0, fails },
      host,
      counters: 1,
      maxCalls,
      metricsPrefix: "plain_",
      texts: { lost: LOST, again: AGAIN },
    },
    {
      clock,
      log: log as Logger,
      losses: metrics.counter("losses_total", "Losses."),
      onMessage: (_, message) => void told.push(message.told),
      onServing: (_, { port }, config) => {
        ports.push(config.port);
        return { ...config, port };
      },
      onLost,
      noAnswer: (why, options) => new CodedError(`plain/${why}`, {}, options),
      startError: (error) => new Error(`told otherwise: ${error.message}`),
      describe: ({ name }) => ({ name }),
    },
  );
  threads.push(thread);
  await thread.start();
  const ask = (what: string, more: object = {}): Promise<unknown> =>
    thread.ask((run, id) => run.send({ id, what, ...more } as Plain["to"]));
  const losses = async (): Promise<string> => /^losses_total (\d+)$/m.exec((await metrics.expose()).body)![1]!;
  return { thread, ask, told, ports, lines, log, onLost, losses };
}

const restarted = async (thread: NetworkThread<Plain>, before: NetworkRun<Plain> | undefined): Promise<void> => {
  await vi.waitUntil(() => thread.serving !== undefined && thread.serving !== before, { timeout: 60_000, interval: 5 });
};

describe("a network in a thread", () => {
  it("says who it is, answers, tells, and counts", async () => {
    const { thread, ask, told } = await start();
    expect(thread.identity).toEqual({ name: "plain", port: 4_000 });
    expect(await ask("echo", { bytes: Uint8Array.of(1, 2) })).toEqual(Uint8Array.of(1, 2));
    await expect(ask("refuse")).rejects.toMatchObject({ code: "plain/refused", data: { number: 7 } });
    thread.serving!.send({ id: 0, what: "tell", text: "a" });
    expect(await thread.ask((run, id) => run.urgent.postMessage({ id }))).toBe("urgent");
    await expect(ask("what it does not know")).rejects.toThrow("not a function");
    await ask("reject");
    thread.serving!.send({ id: 0, what: "throw" });
    expect(await ask("echo", { bytes: Uint8Array.of(3) })).toEqual(Uint8Array.of(3));
    expect(told).toEqual(["a"]);
    expect(thread.serving!.counters[0]).toBe(7);
    const { body } = await createMetrics({ prefix: "", ofProcess: false }).expose(await thread.collect());
    expect(body).toMatch(/^plain_rejections_total 2$/m);
  });

  it("takes so many calls at a time", async () => {
    const { ask } = await start({ maxCalls: 2 });
    const waiting = Promise.allSettled([ask("never"), ask("never")]);
    await expect(ask("echo")).rejects.toMatchObject({ code: "plain/busy" });
    await threads[0]!.close();
    for (const call of await waiting) expect(call).toMatchObject({ reason: { code: "plain/closed" } });
    await expect(ask("echo")).rejects.toMatchObject({ code: "plain/closed" });
  });

  it("reports what keeps it from starting, and does not try again", async () => {
    const clock = new Time();
    await expect(start({ clock, fails: true })).rejects.toThrow(/^told otherwise: .*setting/);
    expect(clock.sleeps).toEqual([]);
  });

  it("shares its thread until that is lost: one after the other can be closed, and none ends another twice", async () => {
    const host = newHost();
    const clock = new Time();
    const [a, b, c] = await Promise.all([start({ host, clock }), start({ host, clock }), start({ host })]);
    const threadOf = ({ ask }: typeof a) => ask("thread");
    const shared = await threadOf(a);
    expect([await threadOf(b), await threadOf(c)]).toEqual([shared, shared]);
    expect(await b.ask("echo", { bytes: Uint8Array.of(1) })).toEqual(Uint8Array.of(1));
    b.thread.serving!.send({ id: 0, what: "tell", text: "b" });
    await c.thread.close();
    expect(c.lines.at(-1)).toMatchObject({ text: "closed" });
    expect(await threadOf(b)).toBe(shared);
    expect([a.told, b.told]).toEqual([[], ["b"]]);

    const lose = async (...all: readonly (typeof a)[]): Promise<void> => {
      const before = all.map(({ thread }) => thread.serving);
      await expect(a.ask("die")).rejects.toMatchObject({ code: "plain/lost" });
      await Promise.all(all.map(({ thread }, i) => restarted(thread, before[i])));
    };
    await lose(a, b);
    const apart = await threadOf(b);
    expect(await threadOf(a)).not.toBe(apart);
    await lose(a);
    expect(await threadOf(b)).toBe(apart);
    expect([await a.losses(), await b.losses()]).toEqual(["2", "1"]);
  });

  it("is started again after it was lost, with the port that it had, after delays that grow until it ran for a while", async () => {
    const clock = new Time();
    const { thread, ask, ports, lines, onLost, losses } = await start({ clock });
    const lose = async (): Promise<void> => {
      const run = thread.serving;
      await expect(ask("die")).rejects.toMatchObject({ code: "plain/lost" });
      await restarted(thread, run);
      await vi.waitFor(() => expect(lines.at(-1)).toEqual({ level: "info", text: AGAIN, fields: { name: "plain" } }), 60_000);
    };
    await lose();
    await lose();
    clock.now += 5 * 60_000 + 1;
    await lose();
    expect(clock.sleeps).toEqual([1_000, 2_000, 0]);
    expect(ports).toEqual([0, 4_000, 4_000, 4_000]);
    expect(onLost).toHaveBeenCalledTimes(3);
    expect(await losses()).toBe("3");
    expect([3, 4, 6, 7, 100].map(restartDelayMs)).toEqual([4_000, 8_000, 32_000, 60_000, 60_000]);
  });

  it("says that it is lost while it is being started again, and can be closed then", async () => {
    const clock = new Time();
    const { thread, ask, lines } = await start({ clock });
    clock.held = new Promise(() => {});
    await expect(ask("die")).rejects.toMatchObject({ code: "plain/lost" });
    await expect(ask("echo")).rejects.toMatchObject({ code: "plain/lost" });
    await thread.close();
    expect(lines.map(({ text }) => text)).toEqual([LOST]);
  });

  it("is lost after a minute without a turn of its event loop, not sooner", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const clock = new Time();
    const { thread, lines } = await start({ clock });
    const run = thread.serving!;
    const pass = (ms: number): void => {
      clock.now += ms;
      vi.advanceTimersByTime(ms);
    };
    const heard = run.heardAtMs;
    pass(50_000);
    const before = Atomics.load(run.shared, 0);
    await vi.waitUntil(() => Atomics.load(run.shared, 0) > before, { timeout: 60_000, interval: 20 });
    pass(10_000);
    expect(run.heardAtMs).toBeGreaterThan(heard);
    expect(thread.serving).toBe(run);
    Atomics.store(run.shared, 0, run.heartbeat);
    for (let i = 0; i < 6; i++) pass(10_000);
    expect(lines).toEqual([]);
    pass(10_000);
    expect(lines.map(({ text }) => text)).toEqual([LOST]);
    await restarted(thread, run);
  });

  it("takes on the level of the log, and brings its lines", async () => {
    const { thread, ask, log, lines } = await start();
    log.level = "debug";
    await vi.waitFor(async () => expect(await ask("level")).toBe("debug"), { timeout: 60_000, interval: 50 });
    await ask("reject");
    await vi.waitFor(
      () => expect(lines[0]).toMatchObject({ level: "debug", text: "a promise failed that nobody waits for" }),
      60_000,
    );
    await thread.close();
    expect(lines.at(-1)).toMatchObject({ level: "info", text: "closed" });
  });
});
