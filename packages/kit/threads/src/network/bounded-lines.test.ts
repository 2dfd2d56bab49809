import { describe, expect, it } from "vitest";
import { boundedLines, MAX_LOG_LINES } from "./bounded-lines.ts";
import { type LogLine, SentLogger } from "./sent-logger.ts";

const counters = (): Int32Array<SharedArrayBuffer> => new Int32Array(new SharedArrayBuffer(8));

describe("lines of the log on their way to another thread", () => {
  it("are dropped beyond so many, errors excepted, until some were taken", () => {
    const shared = counters();
    const sent: LogLine[] = [];
    const line = boundedLines(shared, 1, (one) => sent.push(one));
    for (let i = 0; i < MAX_LOG_LINES + 5; i++) line({ level: "debug", text: "x", fields: {} });
    line({ level: "error", text: "e", fields: {} });
    expect(sent).toHaveLength(MAX_LOG_LINES + 1);
    Atomics.sub(shared, 1, 10);
    line({ level: "info", text: "x", fields: {} });
    expect(sent).toHaveLength(MAX_LOG_LINES + 2);
    expect(shared[0]).toBe(0);
  });

  it("are sent from the level on that the process has, with what can cross", () => {
    const sent: LogLine[] = [];
    const log = new SentLogger(
      "info",
      boundedLines(counters(), 0, (line) => sent.push(line)),
      { part: "p2p" },
    );
    const child = log.child({ peer: "a" });
    child.debug("not this one");
    child.warn("failed", { error: new Error("why"), bytes: Uint8Array.of(1), many: [1, 2], call: () => 1 });
    log.level = "debug";
    child.debug("but this one");
    expect(structuredClone(sent)).toEqual([
      {
        level: "warn",
        text: "failed",
        fields: {
          part: "p2p",
          peer: "a",
          error: expect.stringContaining("why"),
          bytes: Uint8Array.of(1),
          many: "[1,2]",
          call: "() => 1",
        },
      },
      { level: "debug", text: "but this one", fields: { part: "p2p", peer: "a" } },
    ]);
  });
});
