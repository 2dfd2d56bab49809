import { EngineError } from "@rnode/node-clients";
import { expect, it } from "vitest";
import { FakeL1 } from "../testing/fake-chain.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { readAhead } from "./read-ahead.ts";

it("reads a new L1 head and its receipts for an active sequencer only", async () => {
  const l1 = new FakeL1(2);
  const { log, logs } = recordingLogger();
  await readAhead(l1.head, { l1, sequencer: { isActive: false }, log });
  expect(l1.calls).toEqual([]);
  await readAhead(l1.head, { l1, sequencer: { isActive: true }, log });
  expect(l1.calls).toEqual(["hash", "receipts"]);
  l1.failure = new EngineError("engine/unavailable", {});
  await readAhead(l1.head, { l1, sequencer: { isActive: true }, log });
  expect(logs.map(({ level }) => level)).toEqual(["debug"]);
});
