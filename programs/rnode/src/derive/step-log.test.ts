import { expect, it } from "vitest";
import { FakeEngine, FakeL1, testConfig } from "../testing/fake-chain.ts";
import { ScriptedPipeline, userTransaction } from "../testing/harness.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { withStepLog } from "./step-log.ts";

it("says at detail what each step of the pipeline came to, and changes nothing", async () => {
  const config = testConfig();
  const genesis = new FakeEngine(config).block(config.genesis.l2.hash).ref;
  const pipeline = new ScriptedPipeline(config, new FakeL1(3));
  pipeline.batches.push({ origin: 0, from: 1, userTransactions: [userTransaction(1)], isLastInSpan: false });
  const reset = { kind: "reset", reason: "l1-reorg", detail: "block 7 is gone" } as const;
  pipeline.next.push({ kind: "again" }, reset, new Error("L1 is down"));
  const { log, logs } = recordingLogger();
  const logged = withStepLog(pipeline, log);

  await logged.reset(genesis);
  expect(await logged.step(genesis)).toEqual({ kind: "again" });
  expect(await logged.step(genesis)).toBe(reset);
  await expect(logged.step(genesis)).rejects.toThrow("L1 is down");
  const pulled = await logged.step(genesis);
  if (pulled.kind !== "value") throw new Error(pulled.kind);
  expect([logged.nextParent, logged.origin?.number]).toEqual(["unnamed", 1]);
  expect(logged.depositsOnly(pulled.value).attributes.transactions).toHaveLength(1);
  expect(await logged.step({ ...genesis, number: 1 })).toEqual({ kind: "exhausted" });

  const step = { level: "trace", text: "derivation step" };
  const attributes = { deposits: 1, derivedFrom: 1 };
  expect(logs).toMatchObject([
    { text: "derivation starts over", fields: { block: 1, ms: expect.any(Number) } },
    { ...step, fields: { block: 1, outcome: "again" } },
    { ...step, fields: { block: 1, outcome: "reset", reason: "l1-reorg (block 7 is gone)" } },
    { ...step, fields: { block: 1, outcome: "failed", reason: "Error: L1 is down" } },
    { ...step, fields: { block: 1, l1Block: 1, outcome: "attributes", ...attributes, transactions: 1, isLastInSpan: false } },
    { text: "derivation replaces a block", fields: { block: 1, ...attributes, transactions: 0, isLastInSpan: true } },
    { ...step, fields: { block: 2, l1Block: 2, outcome: "exhausted" } },
  ]);
});
