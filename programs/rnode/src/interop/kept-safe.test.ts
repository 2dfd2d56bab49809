import type { BatchVerdict } from "@rnode/derivation";
import { silentLogger } from "@rnode/observe";
import type { Hex } from "@rnode/primitives";
import type { L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { SafeChainCheck } from "../safe/safe-chain-check.ts";
import { testConfig } from "../testing/fake-chain.ts";
import { withCrossSafeKept } from "./kept-safe.ts";

const MESSAGES_FROM = 50;
const ref = (number: number): L2BlockRef => ({
  hash: `0x${number}` as Hex,
  number,
  parentHash: "0x",
  timestamp: number,
  l1Origin: { hash: "0x", number: 10 },
  sequenceNumber: 0,
});
const isSupervised = ({ timestamp }: L2BlockRef): boolean => timestamp >= MESSAGES_FROM;

describe("a block that the supervisor has called safe", () => {
  it.each([
    ["is where derivation starts", 40, 60, 60],
    ["is not, from before messages were executed", 20, 40, 20],
    ["is none where the search found it anyway", 60, 60, 60],
  ])("%s", (_, safe, highestFormerSafe, expected) => {
    const found = {
      kind: "found" as const,
      unsafe: ref(70),
      safe: ref(safe),
      finalized: ref(0),
      base: ref(safe),
      derivedFrom: { hash: "0x" as Hex, number: 1 },
      highestFormerSafe: ref(highestFormerSafe),
    };
    const kept = withCrossSafeKept(found, isSupervised);
    expect([kept.safe.number, kept.base.number]).toEqual([expected, expected]);
    expect(kept.derivedFrom === undefined).toBe(expected !== safe); // it is of the block that was found
  });

  it.each([
    ["not doubted, although batches go on on the block that it replaced", isSupervised, false],
    ["doubted where nobody supervises", undefined, true],
  ])("is %s", (_, supervised, isDoubted) => {
    const check = new SafeChainCheck({
      config: { ...testConfig(), seqWindowSize: 1 },
      l1: { blockByNumber: () => Promise.resolve(undefined) },
      l2: { blockByNumber: () => Promise.resolve(undefined) },
      isSupervised: supervised,
      log: silentLogger,
    });
    check.onReset(ref(60), ref(60));
    const verdict: BatchVerdict = { kind: "drop", reason: "parent-hash-mismatch" };
    for (let number = 20; number < 40; number++) {
      const l1InclusionBlock = { hash: "0x" as Hex, number, parentHash: "0x" as Hex, timestamp: 0 };
      check.observer.onBatch({ batch: { type: "singular", l1InclusionBlock, timestamp: number } as never, verdict });
    }
    expect(check.doubt !== undefined).toBe(isDoubted);
  });
});
