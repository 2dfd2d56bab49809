import { describe, expect, it } from "vitest";
import { ClientConnection } from "../http/client-connection.ts";
import { FairQueue } from "./fair-queue.ts";

const from = (address: string): ClientConnection => new ClientConnection("http", address);
const newQueue = (limits: Partial<ConstructorParameters<typeof FairQueue>[0]> = {}): FairQueue<string> =>
  new FairQueue({ maxItems: 100, maxItemsPerNetwork: 50, maxBytes: 1000, ...limits });

describe("a fair queue", () => {
  it("serves networks in turn, however much each has waiting, and the connections of each in turn", () => {
    const queue = newQueue();
    const [a1, a2, b] = [from("1.1.1.1"), from("1.1.1.1"), from("2.2.2.2")];
    for (let i = 0; i < 20; i++) queue.add(a1, `a1 ${i}`, 1);
    queue.add(a2, "a2 0", 1);
    queue.add(b, "b 0", 1);
    queue.add(b, "b 1", 1);
    const taken = Array.from({ length: 6 }, () => queue.take());
    expect(taken).toEqual(["a1 0", "b 0", "a2 0", "b 1", "a1 1", "a1 2"]);
    expect(queue.size).toBe(17);
  });

  it("serves those last who have used most time, until the others have used as much", () => {
    const queue = newQueue();
    const [a, b] = [from("1.1.1.1"), from("2.2.2.2")];
    for (let i = 0; i < 5; i++) {
      queue.add(a, "a", 1);
      queue.add(b, "b", 1);
    }
    expect(queue.take()).toBe("a");
    queue.charge(a, 30);
    const taken: unknown[] = [];
    for (let i = 0; i < 5; i++) {
      taken.push(queue.take());
      if (taken.at(-1) === "b") queue.charge(b, 10);
    }
    expect(taken).toEqual(["b", "b", "b", "a", "b"]);
  });

  it("gives as much time to many short items as to a few long ones", () => {
    const queue = newQueue();
    const [long, short] = [from("1.1.1.1"), from("2.2.2.2")];
    const costMs = new Map([
      ["long", 500],
      ["short", 5],
    ]);
    const usedMs = new Map<string, number>();
    for (let i = 0; i < 2; i++) queue.add(long, "long", 1);
    for (let i = 0; i < 2; i++) queue.add(short, "short", 1);
    for (let nowMs = 0; nowMs < 10_000; ) {
      const item = queue.take()!;
      const client = item === "long" ? long : short;
      const ms = costMs.get(item)!;
      queue.charge(client, ms);
      queue.add(client, item, 1);
      nowMs += ms;
      usedMs.set(item, (usedMs.get(item) ?? 0) + ms);
    }
    const difference = Math.abs(usedMs.get("long")! - usedMs.get("short")!);
    expect(difference).toBeLessThanOrEqual(505); // one item of each
  });

  it("serves those last who come after the others, and takes from them what has to go", () => {
    const [a, b1, b2] = [from("1.1.1.1"), from("2.2.2.2"), from("2.2.2.2")];
    const last = new Set<unknown>(["2.2.2.2", b1]);
    const precedence = { isNetworkLast: (key: string) => last.has(key), isConnectionLast: (client: unknown) => last.has(client) };
    const queue = new FairQueue<string>({ maxItems: 100, maxItemsPerNetwork: 50, maxBytes: 1000 }, precedence);
    const fill = (): void => {
      for (const [index, name] of ["x", "y"].entries()) {
        queue.add(b1, `b1 ${name}`, 1);
        queue.add(b2, `b2 ${name}`, 1);
        if (index === 0) queue.add(a, "a", 1);
      }
    };
    // whatever they have used before
    queue.add(a, "first", 1);
    queue.take();
    queue.charge(a, 1000);
    fill();
    expect(queue.removeLast((item) => item.startsWith("b"))).toBe("b1 y");
    expect(queue.removeLast((item) => item.startsWith("c"))).toBeUndefined();
    expect(Array.from({ length: 5 }, () => queue.take())).toEqual(["a", "b2 x", "b2 y", "b1 x", undefined]);
    last.clear();
    fill();
    expect(queue.take()).toContain("b");
    expect([queue.size, queue.bytes]).toEqual([4, 4]);
  });

  it("serves the next of them when those who come first cannot begin", () => {
    const [a, b] = [from("1.1.1.1"), from("2.2.2.2")];
    const queue = new FairQueue<string>(
      { maxItems: 100, maxItemsPerNetwork: 50, maxBytes: 1000 },
      { isNetworkLast: (key) => key === "2.2.2.2", isConnectionLast: () => false },
    );
    queue.add(a, "a", 1);
    queue.add(b, "b", 1);
    expect(queue.take((item) => item !== "a")).toBe("b");
  });

  it("gives nobody credit for having been away", () => {
    const queue = newQueue();
    const [a, b] = [from("1.1.1.1"), from("2.2.2.2")];
    for (let i = 0; i < 30; i++) {
      queue.add(a, "a", 1);
      queue.take();
      queue.charge(a, 100);
    }
    for (let i = 0; i < 4; i++) {
      queue.add(a, "a", 1);
      queue.add(b, "b", 1);
    }
    const taken: unknown[] = [];
    for (let i = 0; i < 4; i++) {
      taken.push(queue.take());
      queue.charge(taken.at(-1) === "a" ? a : b, 100);
    }
    expect(taken).toEqual(["b", "a", "b", "a"]);
  });

  it("skips what may not begin, and forgets what is removed", () => {
    const queue = newQueue();
    const a = from("1.1.1.1");
    for (const item of ["x", "y", "z"]) queue.add(a, item, 10);
    expect(queue.take((item) => item !== "x")).toBe("y");
    expect(queue.remove(a, "x")).toBe(true);
    expect(queue.remove(a, "x")).toBe(false);
    expect([queue.size, queue.bytes]).toEqual([1, 10]);
    expect([queue.take(), queue.take()]).toEqual(["z", undefined]);
    expect([queue.size, queue.bytes]).toEqual([0, 0]);
  });

  it("refuses what is too much in all, of one network, and in bytes", () => {
    const queue = newQueue({ maxItems: 3, maxItemsPerNetwork: 2, maxBytes: 100 });
    const [a, b] = [from("1.1.1.1"), from("2.2.2.2")];
    expect(queue.add(a, "1", 500)).toBeUndefined(); // larger than all may be, but alone
    expect(queue.add(a, "2", 1)).toBe("bytes");
    expect(queue.take()).toBe("1");
    expect([queue.add(a, "1", 1), queue.add(a, "2", 1), queue.add(a, "3", 1)]).toEqual([undefined, undefined, "network"]);
    expect([queue.add(b, "1", 1), queue.add(b, "2", 1)]).toEqual([undefined, "all"]);
  });
});
