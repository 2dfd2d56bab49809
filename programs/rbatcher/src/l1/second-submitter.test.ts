import { silentLogger } from "@rnode/observe";
import { SimClock } from "@rnode/program/testing";
import { encodeBlob } from "@rnode/protocol";
import { SimL1, simManager, simProver } from "@rnode/tx-manager/testing";
import { describe, expect, it } from "vitest";
import type { TxData } from "../channels/channel-manager.ts";
import { SecondSubmitterWatch } from "./second-submitter.ts";

const INBOX = new Uint8Array(20).fill(0xff);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const blobs = (...texts: readonly string[]): TxData => ({ carrier: "blobs", data: texts.map(bytes) }) as unknown as TxData;

/** The result of the watch for a nonce that a transaction with the blobs `taken` used, while this process sent `wanted`. */
async function inspected(taken: readonly string[], wanted: TxData, prover: typeof simProver | undefined = simProver) {
  const [l1, clock] = [new SimL1(), new SimClock()];
  const transactions = simManager({ l1, clock });
  const carries = { kind: "blobs", blobs: taken.map((text) => encodeBlob(bytes(text))) } as const;
  const sent = transactions.send({ to: INBOX, carries }, new AbortController().signal);
  await clock.advance(1000);
  l1.mine();
  await clock.advance(5000);
  await sent;
  const { address } = transactions;
  const watch = new SecondSubmitterWatch({
    l1,
    address,
    inbox: INBOX,
    stuckAfterMs: 0,
    clock,
    log: silentLogger,
    blobProver: prover,
  });
  watch.begin(0n);
  return watch.inspect(0n, wanted);
}

describe("a nonce that blobs have taken", () => {
  it("was ours if they are: a version that L1 had said it refused is in a block after all", async () => {
    expect(await inspected(["one", "two"], blobs("one", "two"))).toBeUndefined();
  });

  it.each<[string, TxData]>([
    ["other data", blobs("one", "three")],
    ["another order", blobs("two", "one")],
    ["fewer blobs", blobs("one")],
    ["calldata", { carrier: "calldata", data: [bytes("one")] } as unknown as TxData],
  ])("was a second submitter's if we wanted to send %s", async (_, wanted) => {
    expect(await inspected(["one", "two"], wanted)).toMatchObject({ text: expect.stringMatching(/a second batch submitter/) });
  });
});
