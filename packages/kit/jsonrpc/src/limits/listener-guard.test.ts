import { createServer } from "node:net";
import { silentLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { ListenerGuard } from "./listener-guard.ts";

describe("a listener", () => {
  const setUp = (maxOpenFiles: number | undefined, listeners = 1) => {
    const said: unknown[] = [];
    let made = 0;
    const log = { ...silentLogger, warn: (_: string, fields: unknown) => void said.push(fields) };
    const guard = new ListenerGuard({ log, maxOpenFiles, listeners, closeLongestIdle: () => made++ });
    const server = createServer();
    return { guard, server, said, made: () => made };
  };
  it("has the connections it may have, and no more than there are file descriptors for", () => {
    const { guard } = setUp(300, 2);
    expect([500, 100, 0, -1].map((wanted) => guard.limitOf(wanted))).toEqual([150, 100, 150, -1]);
    const free = setUp(undefined);
    expect([500, 0].map((wanted) => free.guard.limitOf(wanted))).toEqual([500, Number.POSITIVE_INFINITY]);
  });

  it("accepts a burst beyond that, to choose from, unless descriptors are few", () => {
    expect(setUp(undefined).guard.spareFor(500)).toBe(256);
    expect([150, 100, 20].map((most) => setUp(300, 2).guard.spareFor(most))).toEqual([16, 50, 130]);
  });

  it("survives connections that cannot be accepted, makes room, and says so once a minute", () => {
    const { guard, server, said, made } = setUp(undefined);
    guard.watch(server);
    server.emit("error", new Error("accept EMFILE"));
    server.emit("error", new Error("accept EMFILE"));
    server.emit("drop");
    expect(made()).toBe(2);
    expect(said).toEqual([expect.objectContaining({ reason: "accept EMFILE", refused: 1 })]);
  });
});
