import type { Clock } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { parseEnode } from "../enode.ts";
import { DialPlan } from "./dial-plan.ts";

const ENODE = parseEnode(`enode://${"0f".repeat(64)}@127.0.0.1:30303`);
const nobody = (): boolean => false;

/** A plan at the time that is returned by `at`. */
function planAt(random: number) {
  let nowMs = 1_000_000;
  const clock: Clock = { unixMs: () => nowMs, monotonicMs: () => nowMs, sleep: () => Promise.resolve() };
  return {
    plan: new DialPlan(clock, () => random),
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe("whom to dial next", () => {
  it("a node that was found is not dialled again for 35 seconds", () => {
    const { plan, pass } = planAt(0);
    plan.offer(ENODE);
    expect(plan.take(1, nobody)).toEqual([ENODE]);
    plan.dialled(ENODE.id);
    plan.offer(ENODE);
    pass(34_999);
    expect(plan.take(1, nobody)).toEqual([]);
    pass(1);
    expect(plan.take(1, nobody)).toEqual([ENODE]);
  });

  it.each([
    ["found", 0, 200],
    ["found", 0.5, 1_700],
    ["named", 0, 200],
    ["named", 0.5, 1_700],
  ] as const)("two nodes that dialled each other at once dial again soon, at different times: %s, %f", (how, random, dueMs) => {
    const { plan, pass } = planAt(random);
    const due = () => (how === "named" ? plan.dueStatic(nobody) : plan.take(1, nobody));
    if (how === "named") plan.addStatic(ENODE);
    else plan.offer(ENODE);
    expect(due()).toEqual([ENODE]);
    plan.dialled(ENODE.id);
    plan.collided(ENODE);
    pass(dueMs - 1);
    expect(due()).toEqual([]);
    pass(1);
    expect(due()).toEqual([ENODE]);
  });

  it("a named node that does not answer is dialled after longer and longer delays, not quite regular ones", () => {
    for (const random of [0, 0.999]) {
      const { plan, pass } = planAt(random);
      plan.addStatic(ENODE);
      for (const delayMs of [1_000, 2_000, 4_000]) {
        expect(plan.dueStatic(nobody)).toEqual([ENODE]);
        plan.dialled(ENODE.id);
        expect(plan.dueStatic(nobody)).toEqual([]);
        pass(delayMs * (0.5 + random));
      }
    }
  });

  it("one address does not fill the plan, whatever number of keys it has", () => {
    const { plan } = planAt(0);
    const enodeOf = (index: number, host: string) => parseEnode(`enode://${index.toString(16).padStart(128, "0")}@${host}:30303`);
    plan.offer(enodeOf(1, "198.20.0.1"));
    for (let index = 2; index < 2_000; index++) plan.offer(enodeOf(index, "198.20.0.2"));
    expect(plan.candidateCount).toBe(9);
    expect(plan.take(100, nobody).map(({ host }) => host)).toContain("198.20.0.1");
  });
});
