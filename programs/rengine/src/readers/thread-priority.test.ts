import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { buildPackage } from "../testing/built-package.ts";
import { connect } from "../testing/reader-connections.ts";
import { startTestClient } from "../testing/test-client.ts";

/** Niceness of each thread of a process, by its id. */
const nicenessOf = (pid: number): ReadonlyMap<number, number> =>
  new Map(
    readdirSync(`/proc/${pid}/task`).map((id) => {
      const afterName = readFileSync(`/proc/${pid}/task/${id}/stat`, "utf8").replace(/^.*\) /s, "");
      return [Number(id), Number(afterName.split(" ")[16])];
    }),
  );

const childrenOf = (pid: number): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((id) => {
      try {
        return (
          readFileSync(`/proc/${id}/stat`, "utf8")
            .replace(/^.*\) /s, "")
            .split(" ")[1] === String(pid)
        );
      } catch {
        return false; // has ended
      }
    })
    .map(Number);

describe.runIf(process.platform === "linux")("the threads of a reader", () => {
  it("have the usual priority where cheap requests are answered, and a lower one where costly ones are", {
    tags: "long",
  }, async () => {
    buildPackage();
    const before = new Set(childrenOf(process.pid));
    const node = await startTestClient(["--rpc.workers=1"]);
    try {
      const [reader, ...others] = childrenOf(process.pid).filter((pid) => !before.has(pid));
      expect(others).toEqual([]);
      const main = (): number | undefined => nicenessOf(reader!).get(reader!);
      const low = (): number => [...nicenessOf(reader!).values()].filter((niceness) => niceness > main()!).length;
      expect(low()).toBe(0);
      const connection = await connect(node.httpUrl);
      await connection.call("debug_traceCall", [{ to: `0x${"11".repeat(20)}` }, "latest", { tracer: "callTracer" }]);
      expect(low()).toBe(1);
      connection.close();
    } finally {
      await node.remove();
    }
  });
});
