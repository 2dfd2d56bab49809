import type { CostlyKind } from "@rnode/eth-api";
import { CLIENT_GONE, ClientConnection, decodeRequest, LIMIT_EXCEEDED } from "@rnode/jsonrpc";
import { createMetrics, silentLogger } from "@rnode/observe";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { MessageToCostly } from "./costly-messages.ts";
import { type CostlyLimits, CostlyRequests } from "./costly-requests.ts";
import type { CostlyThreadEvents } from "./costly-thread.ts";
import { GasBudgets } from "./gas-budgets.ts";

/** What a test sees of a thread. */
interface FakeThread {
  readonly events: CostlyThreadEvents;
  readonly posted: MessageToCostly[];
  readonly givenUp: Int32Array;
  isToEnd: boolean;
  /** as if it had ended by itself */
  exit: () => void;
}

describe("the costly requests of a reader", () => {
  let nowMs: number;
  let threads: FakeThread[];
  let requests: CostlyRequests;
  let learned: number[];
  let budgets: GasBudgets;
  let startsAtOnce: boolean;
  beforeEach(() => {
    startsAtOnce = true;
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
    budgets = new GasBudgets({ perConnection: 50, perAddress: 100 }, () => nowMs);
    requests = new CostlyRequests(
      { maxWaiting: 8, maxWaitingBytes: 1000, maxTraces: 2, hardLimitMs: 90_000, ...limits },
      {
        startThread: (givenUp, events) => {
          const thread: FakeThread = { events, posted: [], givenUp, isToEnd: false, exit: () => {} };
          threads.push(thread);
          const exited = new Promise<void>((resolve) => {
            thread.exit = resolve;
          });
          return {
            post: (message) => {
              if (thread.posted.push(message) === 1 && startsAtOnce) events.onReady();
            },
            end: () => {
              thread.isToEnd = true;
              return exited;
            },
          };
        },
        ask: async (text, reader) => `${text} of ${reader}`,
        budgets,
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
  const textsBegun = (thread = threads.at(-1)!): string[] => begun(thread).map(({ text }) => decodeRequest(text));
  const finish = (text: string, workedMs = 5, gas = 0, thread = threads.at(-1)!): void => {
    const { id } = begun(thread).find((message) => message.text === text)!;
    thread.events.onMessage({ kind: "done", id, result: `answer to ${text}`, workedMs, gas });
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
        gas: 0,
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

  it("wait for a thread that starts, which is kept whoever leaves meanwhile", async () => {
    startsAtOnce = false;
    open({ hardLimitMs: 5_000 });
    const impatient = Array.from({ length: 4 }, () => from());
    for (const [index, client] of impatient.entries()) {
      void run(`call ${index}`, client);
      pass(3_000);
      client.leave();
      pass(3_000);
    }
    const patient = run("patient");
    pass(20_000);
    expect(threads).toHaveLength(1);
    const [thread] = threads;
    thread!.events.onReady();
    pass(800); // what was given up may still end by itself, from now on
    finish("call 0");
    pass(4_000);
    finish("patient");
    expect(await patient).toBe("answer to patient");
    expect([threads.length, thread!.isToEnd]).toEqual([1, false]);
  });

  it("wait for another thread if one does not start in two minutes", () => {
    startsAtOnce = false;
    open();
    const client = from();
    void run("patient", client);
    pass(119_000);
    expect(threads).toHaveLength(1);
    pass(2_000);
    expect([threads.length, threads[0]!.isToEnd]).toEqual([2, true]);
    expect(textsBegun()).toEqual(["patient"]);
  });

  it("that do not stop when they are given up are left alone with their thread; the others begin again, alone", async () => {
    open();
    const stuck = from();
    void run("stuck", stuck);
    const search = run("search", from(), "search");
    const trace = run("trace", from(), "trace");
    stuck.leave();
    pass(2000);
    expect(threads.map(({ isToEnd }) => isToEnd)).toEqual([true, false]);
    expect([...threads[0]!.givenUp]).not.toContain(0);
    expect([...threads[1]!.givenUp]).not.toContain(1);
    expect(textsBegun()).toEqual(["search"]);
    finish("search");
    finish("trace");
    expect(await Promise.all([search, trace])).toEqual(["answer to search", "answer to trace"]);
  });

  it("that do not stop keep their thread while another is left alone", async () => {
    open();
    const leaving = async (text: string): Promise<void> => {
      const client = from();
      void run(text, client);
      client.leave();
      pass(2000);
    };
    await leaving("first");
    await leaving("second");
    expect(threads.map(({ isToEnd }) => isToEnd)).toEqual([true, false]);
    threads[0]!.exit();
    await vi.waitFor(() => {
      pass(250);
      expect(threads[1]!.isToEnd).toBe(true);
    });
  });

  it("that take too long end the thread, and are told so", async () => {
    open({ hardLimitMs: 3000 });
    const long = run("long");
    pass(2000);
    expect(threads).toHaveLength(1);
    pass(2000);
    await expect(long).rejects.toThrow("--rpc.workertimeout");
    expect(threads[0]!.isToEnd).toBe(true);
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

  it("that are large and were handed to a thread that ended are not tried again", async () => {
    open();
    const large = requests.read(from(), [Uint8Array.of(0x31)]).catch((error: unknown) => error);
    const waiting = requests.read(from(), [Uint8Array.of(0x32)]);
    void waiting.catch(() => {});
    threads[0]!.events.onEnd("out of memory");
    expect(await large).toMatchObject({ message: expect.stringContaining("out of memory") as string });
    pass(2000);
    expect(threads[1]!.posted).toMatchObject([{ kind: "read", text: [Uint8Array.of(0x32)] }]);
  });

  it("of an address that has used up its budget of gas come after those of others, whatever time each has had", () => {
    open({ maxWaiting: 100 });
    const honest = from("9.9.9.9");
    void run("dump", honest, "search");
    finish("dump", 60_000); // much time, no gas
    for (const text of ["a1", "a2", "a3"]) void run(text, from("1.1.1.1"));
    finish("a1", 1, 1500);
    void run("b1", from("2.2.2.2"));
    finish("a2", 1, 0);
    finish("b1", 1, 1500);
    void run("b2", from("2.2.2.2"));
    void run("c1", honest);
    finish("a3");
    expect(textsBegun().at(-1)).toBe("c1");
    // The budgets fill, and time decides again.
    void run("c2", honest);
    pass(6000);
    finish("c1", 1, 100);
    expect(textsBegun().at(-1)).toBe("b2");
  });

  it("of a connection that has used up its budget come after those of others from its address", () => {
    open({ maxWaiting: 100 });
    const [greedy, modest] = [from(), from()];
    void run("m0", modest, "search");
    finish("m0", 60_000);
    for (const text of ["g1", "g2", "g3"]) void run(text, greedy);
    finish("g1", 1, 600);
    void run("m1", modest);
    finish("g2", 1, 0);
    expect(textsBegun().at(-1)).toBe("m1");
    finish("m1");
    expect(textsBegun().at(-1)).toBe("g3");
  });

  it("are served, whatever was burned, while nobody else waits", async () => {
    open();
    const client = from();
    for (let index = 0; index < 20; index++) {
      const answer = run(`${index}`, client);
      finish(`${index}`, 5, 1_000_000);
      expect(await answer).toBe(`answer to ${index}`);
    }
  });

  it("make room for other addresses when the budget of theirs is used up", async () => {
    const metrics = open({ maxWaiting: 4 });
    const attackers = ["1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"].map((address) => from(address));
    for (const attacker of attackers) {
      const text = `first of ${attacker.remoteAddress}`;
      void run(text, attacker);
      finish(text, 5, 1500);
    }
    const endless = run("endless", attackers[0]);
    const waiting = attackers.map((attacker) => run(`second of ${attacker.remoteAddress}`, attacker));
    const honest = run("honest", from("9.9.9.9"));
    await expect(Promise.race(waiting)).rejects.toMatchObject({
      code: LIMIT_EXCEEDED,
      message:
        "too many costly requests wait already (--rpc.max-waiting-requests); your address has burned 1500 gas of its budget of 1000, which fills by 100 a second (--rpc.max-gas-per-address), and others come first: try again in 5 s",
    });
    // Of those who have used up theirs, none makes room for another.
    await expect(run("third", attackers[2])).rejects.toMatchObject({
      message: expect.stringContaining("--rpc.max-gas-per-address"),
    });
    finish("endless", 5000, 1_000_000);
    await endless;
    expect(textsBegun().at(-1)).toBe("honest");
    finish("honest");
    expect(await honest).toBe("answer to honest");
    const text = JSON.stringify(await metrics.collect());
    expect(text).toContain('"limit":"gas"');
    expect(text).toContain("rpc_costly_gas_total");
  });

  it("make no room for an address that has all the places it may have", async () => {
    open({ maxWaiting: 8 });
    const attackers = ["1.1.1.1", "2.2.2.2", "3.3.3.3"].map((address) => from(address));
    for (const attacker of attackers) {
      void run(attacker.remoteAddress, attacker);
      finish(attacker.remoteAddress, 5, 1500);
    }
    void run("runs", attackers[0]);
    const honest = from("9.9.9.9");
    const waiting = [...attackers, honest].flatMap((client) =>
      [1, 2].map((number) => run(`${client.remoteAddress} ${number}`, client)),
    );
    const settled: unknown[] = [];
    for (const answer of waiting) answer.catch((error: unknown) => settled.push(error));
    await expect(run("third", honest)).rejects.toMatchObject({ message: expect.stringContaining("from your address") });
    expect(settled).toEqual([]);
  });

  it("make room for other connections of their address when the budget of theirs is used up", async () => {
    open({ maxWaiting: 8 });
    const [greedy, modest] = [from(), from()];
    void run("g0", greedy);
    finish("g0", 5, 600);
    void run("g1", greedy);
    void run("g2", greedy);
    const last = run("g3", greedy);
    const served = run("m1", modest);
    await expect(last).rejects.toMatchObject({
      message: expect.stringContaining("this connection has burned 600 gas of its budget of 500"),
    });
    finish("g1");
    finish("m1");
    expect(await served).toBe("answer to m1");
  });

  it("that cost the thread its life use up the budgets of their client", async () => {
    open({ hardLimitMs: 3000 });
    const client = from();
    const long = run("long", client);
    pass(4000);
    await expect(long).rejects.toThrow("--rpc.workertimeout");
    expect([budgets.isConnectionSpent(client), budgets.isAddressSpent("1.1.1.1")]).toEqual([true, true]);
  });

  it("are charged what they burned after their client has left", () => {
    open();
    const client = from();
    void run("runs", client);
    client.leave();
    finish("runs", 5, 1500);
    expect(budgets.isAddressSpent("1.1.1.1")).toBe(true);
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
    await vi.waitFor(() => expect(threads[0]!.posted.at(-1)).toEqual({ kind: "answer", id: 7, text: "nonce of 2" }), 60_000);
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
    const closed = requests.close();
    for (const each of all) await expect(each).rejects.toThrow();
    expect(threads[0]!.isToEnd).toBe(true);
    threads[0]!.exit();
    await closed;
  });
});
