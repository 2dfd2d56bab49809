import type { CostlyKind } from "@rnode/eth-api";
import { CLIENT_GONE, ClientConnection, LIMIT_EXCEEDED } from "@rnode/jsonrpc";
import { createMetrics, silentLogger } from "@rnode/observe";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { MessageToCostly } from "./costly-messages.ts";
import { type CostlyLimits, CostlyRequests } from "./costly-requests.ts";
import type { CostlyThreadEvents } from "./costly-thread.ts";

/** What a test sees of a thread. */
interface FakeThread {
  readonly events: CostlyThreadEvents;
  readonly posted: MessageToCostly[];
  readonly givenUp: Int32Array;
  hasEnded: boolean;
}

describe("the costly requests of a reader", () => {
  let nowMs: number;
  let threads: FakeThread[];
  let requests: CostlyRequests;
  let learned: number[];
  beforeEach(() => {
    vi.useFakeTimers();
    nowMs = 0;
    threads = [];
    learned = [];
  });
  afterEach(() => vi.useRealTimers());

  const pass = (ms: number): void => {
    nowMs += ms;
    vi.advanceTimersByTime(ms);
  };
  function open(limits: Partial<CostlyLimits> = {}) {
    const metrics = createMetrics({ prefix: "", labels: {} });
    requests = new CostlyRequests(
      { maxWaiting: 8, maxWaitingBytes: 1000, maxTraces: 2, hardLimitMs: 90_000, ...limits },
      {
        startThread: (givenUp, events) => {
          const thread: FakeThread = { events, posted: [], givenUp, hasEnded: false };
          threads.push(thread);
          return {
            post: (message) => thread.posted.push(message),
            end: async () => {
              thread.hasEnded = true;
            },
          };
        },
        ask: async (text, reader) => `${text} of ${reader}`,
        learn: (_, workedMs) => learned.push(workedMs),
        log: silentLogger,
        metrics,
        nowMs: () => nowMs,
      },
    );
    return metrics;
  }
  const from = (address = "1.1.1.1"): ClientConnection => new ClientConnection("http", address);
  const run = (text: string, client = from(), kind: CostlyKind = "call"): Promise<unknown> => {
    const answer = requests.run(client, kind, text);
    answer.catch(() => {}); // tests that want the error await it
    return answer;
  };
  const begun = (thread = threads.at(-1)!) => thread.posted.flatMap((message) => (message.kind === "run" ? [message] : []));
  const textsBegun = (thread = threads.at(-1)!): string[] => begun(thread).map(({ text }) => text);
  const finish = (text: string, workedMs = 5, thread = threads.at(-1)!): void => {
    const { id } = begun(thread).find((message) => message.text === text)!;
    thread.events.onMessage({ kind: "done", id, result: `answer to ${text}`, workedMs });
  };

  it("run one call at a time; the next is that of the address that has had least time", async () => {
    open();
    const first = run("a1");
    void run("a2");
    void run("a3");
    const other = run("b1", from("2.2.2.2"));
    expect(textsBegun()).toEqual(["a1"]);
    finish("a1", 100);
    expect(await first).toBe("answer to a1");
    expect(textsBegun()).toEqual(["a1", "b1"]);
    finish("b1");
    expect(await other).toBe("answer to b1");
    expect(textsBegun()).toEqual(["a1", "b1", "a2"]);
    expect(learned).toEqual([100, 5]);
  });

  it("run beside requests of other kinds, and one trace of an address at a time", () => {
    open();
    for (const text of ["t1", "t2"]) void run(text, from(), "trace");
    void run("call");
    void run("search", from(), "search");
    expect(textsBegun()).toEqual(["t1", "call", "search"]);
    void run("t3", from("2.2.2.2"), "trace");
    expect(textsBegun()).toEqual(["t1", "call", "search", "t3"]);
    expect(new Set(begun().map(({ place }) => place)).size).toBe(4);
    finish("t1");
    expect(textsBegun().at(-1)).toBe("t2");
  });

  it("that are large are taken apart one at a time, in the order of all, which says nothing about how long they take", async () => {
    open();
    const read = (text: string, client = from()) => requests.read(client, text);
    const first = read("large 1");
    void read("large 2").catch(() => {});
    const other = read("large 3", from("2.2.2.2"));
    const reads = () => threads[0]!.posted.flatMap((message) => (message.kind === "read" ? [message] : []));
    const done = (index: number): void =>
      threads[0]!.events.onMessage({
        kind: "done",
        id: reads()[index]!.id,
        result: { isBatch: false, parts: [{ text: "{}" }] },
        workedMs: 30,
      });
    expect(reads().map(({ text }) => text)).toEqual(["large 1"]);
    void run("call");
    expect(textsBegun()).toEqual(["call"]);
    done(0);
    expect(await first).toEqual({ isBatch: false, parts: [{ text: "{}" }] });
    done(1);
    expect(await other).toEqual({ isBatch: false, parts: [{ text: "{}" }] });
    expect(reads().map(({ text }) => text)).toEqual(["large 1", "large 3", "large 2"]);
    expect(learned).toEqual([]);
  });

  it("are refused beyond the bounds, and the rest is served", async () => {
    const metrics = open({ maxWaiting: 8, maxWaitingBytes: 100 });
    void run("runs");
    const one = run("1");
    void run("2");
    await expect(run("3")).rejects.toMatchObject({ code: LIMIT_EXCEEDED, message: expect.stringContaining("from your address") });
    await expect(run("x".repeat(100), from("2.2.2.2"))).rejects.toMatchObject({
      code: LIMIT_EXCEEDED,
      message: expect.stringContaining("--rpc.max-waiting-size"),
    });
    for (const address of ["3.3.3.3", "4.4.4.4", "5.5.5.5"]) for (const part of "ab") void run(`${address} ${part}`, from(address));
    await expect(run("7", from("6.6.6.6"))).rejects.toMatchObject({
      code: LIMIT_EXCEEDED,
      message: expect.stringContaining("--rpc.max-waiting-requests"),
    });
    const text = JSON.stringify(await metrics.collect());
    for (const name of ["rpc_costly_waiting", "rpc_costly_refused_total"]) expect(text).toContain(name);
    while (!textsBegun().includes("1")) finish(textsBegun().at(-1)!);
    finish("1");
    expect(await one).toBe("answer to 1");
  });

  it("are given up at once when the connection closes: those that wait, and what runs is told", async () => {
    open();
    const [running, waiting] = [from(), from()];
    const runs = run("runs", running);
    const waits = run("waits", waiting);
    const stays = run("stays");
    waiting.leave();
    await expect(waits).rejects.toThrow(CLIENT_GONE);
    const { place } = begun()[0]!;
    expect(threads[0]!.givenUp[place]).toBe(0);
    running.leave();
    expect(threads[0]!.givenUp[place]).toBe(1);
    await expect(runs).rejects.toThrow(CLIENT_GONE);
    expect(textsBegun()).toEqual(["runs"]); // the thread has not stopped yet
    finish("runs");
    expect(textsBegun()).toEqual(["runs", "stays"]);
    expect(threads[0]!.givenUp[begun()[1]!.place]).toBe(0);
    finish("stays");
    expect(await stays).toBe("answer to stays");
    await expect(run("late", running)).rejects.toThrow(CLIENT_GONE);
  });

  it("that do not stop when they are given up end the thread; the others begin again, alone", async () => {
    open();
    const stuck = from();
    void run("stuck", stuck);
    const search = run("search", from(), "search");
    const trace = run("trace", from(), "trace");
    stuck.leave();
    pass(2000);
    expect(threads.map(({ hasEnded }) => hasEnded)).toEqual([true, false]);
    expect(textsBegun()).toEqual(["search"]);
    finish("search");
    finish("trace");
    expect(await Promise.all([search, trace])).toEqual(["answer to search", "answer to trace"]);
  });

  it("that take too long end the thread, and are told so", async () => {
    open({ hardLimitMs: 3000 });
    const long = run("long");
    pass(2000);
    expect(threads).toHaveLength(1);
    pass(2000);
    await expect(long).rejects.toThrow("--rpc.workertimeout");
    expect(threads[0]!.hasEnded).toBe(true);
  });

  it("that end the thread twice are not tried again; what waits is served by the next", async () => {
    open();
    const fatal = run("fatal");
    const waits = run("waits");
    threads[0]!.events.onEnd("out of memory");
    expect(threads).toHaveLength(1); // not at once: it may be unable to start
    pass(1500);
    expect(textsBegun()).toEqual(["fatal"]);
    threads[1]!.events.onEnd("out of memory");
    await expect(fatal).rejects.toThrow("out of memory");
    pass(1500);
    finish("waits");
    expect(await waits).toBe("answer to waits");
  });

  it("make the reader busy for as long as they run", () => {
    open();
    pass(1000);
    void run("one");
    pass(500);
    finish("one");
    pass(500);
    expect(requests.loadSinceLast()).toBe(0.25);
    void run("two");
    pass(1000);
    expect(requests.loadSinceLast()).toBe(1);
    pass(1000);
    expect(requests.loadSinceLast()).toBe(1);
  });

  it("get their thread's questions answered", async () => {
    open();
    void run("asks");
    threads[0]!.events.onMessage({ kind: "call", id: 7, text: "nonce", reader: 2 });
    await vi.waitFor(() => expect(threads[0]!.posted.at(-1)).toEqual({ kind: "answer", id: 7, text: "nonce of 2" }));
  });

  it("end their thread when there have been none for a minute", () => {
    open();
    void run("one");
    pass(120_000 - 60_000);
    finish("one");
    pass(50_000);
    expect(threads[0]!.posted.at(-1)!.kind).toBe("run");
    pass(20_000);
    expect(threads[0]!.posted.at(-1)!.kind).toBe("close");
    void run("two");
    expect(textsBegun()).toEqual(["two"]);
    expect(threads).toHaveLength(2);
  });

  it("are rejected when the reader closes", async () => {
    open();
    const all = [run("runs"), run("waits")];
    await requests.close();
    for (const each of all) await expect(each).rejects.toThrow();
    expect(threads[0]!.hasEnded).toBe(true);
  });
});
