import { method, NO_CLIENT } from "@rnode/jsonrpc";
import type { Clock } from "@rnode/primitives";
import type { Header } from "@rnode/protocol";
import { expect, it } from "vitest";
import { ClientStatus } from "./client-status.ts";

const context = NO_CLIENT;

it("the status says where the chain is, what waits, and whether the rollup node is heard from", () => {
  let nowMs = 1_000_000;
  const heights = new Map([
    ["latest", 12],
    ["safe", 10],
  ]);
  const status = new ClientStatus({
    chain: {
      headerOf: (selector) => {
        const number = selector.kind === "tag" ? heights.get(selector.tag) : undefined;
        return number === undefined ? undefined : { header: { number, timestamp: 990 } as Header, hash: new Uint8Array(32) };
      },
    },
    pool: { counts: () => ({ pending: 3, queued: 1 }) },
    clock: { unixMs: () => nowMs, monotonicMs: () => nowMs } as Clock,
    servingReaders: () => 2,
  });
  const place = { head: 12, headAgeSec: 10, safe: 10, finalized: undefined, pending: 3, queued: 1, readers: 2 };
  expect(status.fields()).toEqual({ ...place, waitingFor: "the rollup node, which has not used the Engine API yet" });

  const { engine_capabilities: heard } = status.listeningTo({
    engine_capabilities: method({ params: [], handler: () => "answer" }),
  });
  expect(heard!.handler([], context)).toBe("answer");
  expect(status.fields()).toEqual(place);

  nowMs += 61_000;
  expect(status.fields()).toEqual({
    ...place,
    headAgeSec: 71,
    waitingFor: "the rollup node, which last used the Engine API 61 s ago",
  });
});
