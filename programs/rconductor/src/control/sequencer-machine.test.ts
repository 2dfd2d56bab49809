import { describe, expect, it } from "vitest";
import { SequencerMachine, type Situation } from "./sequencer-machine.ts";

const OPTIONS = { startLimitMs: 10_000, stallGraceMs: 10_000 };
const BASE: Situation = {
  nowMs: 0,
  isLeader: true,
  mayLead: true,
  fitness: "healthy",
  isProgressing: true,
  isActive: false,
  canOthersLead: true,
  hasMostBlocks: false,
  isPaused: false,
  isStopped: false,
};

describe("what to do with the sequencer", () => {
  // leader × fitness × active, as upstream's table has it, and whether another one could lead
  it.each<[string, Partial<Situation>, string]>([
    ["a follower at rest: nothing", { isLeader: false }, "none"],
    ["a follower that makes blocks: stop it", { isLeader: false, isActive: true }, "stop"],
    ["an unfit follower that makes blocks: stop it", { isLeader: false, isActive: true, fitness: "unfit" }, "stop"],
    ["a follower that is down: nothing", { isLeader: false, fitness: "down" }, "none"],
    ["a healthy leader at rest: start it", {}, "start"],
    ["a healthy leader at work: nothing", { isActive: true }, "none"],
    ["a leader of a chain that stands still: start it", { fitness: "stalled" }, "start"],
    ["an unfit leader at rest: leave it to others", { fitness: "unfit" }, "resign"],
    ["an unfit leader at rest and nobody fitter: start it", { fitness: "unfit", canOthersLead: false }, "start"],
    ["an unfit leader at work: hand over", { fitness: "unfit", isActive: true }, "hand-over"],
    ["an unfit leader at work and nobody fitter: nothing", { fitness: "unfit", isActive: true, canOthersLead: false }, "none"],
    ["a leader that is down: leave it to others", { fitness: "down" }, "resign"],
    ["a leader that is down and nobody else: wait", { fitness: "down", canOthersLead: false }, "none"],
    ["a leader that is down while it made blocks: hand over", { fitness: "down", isActive: true }, "hand-over"],
    ["a leader at work whose chain stops: hand over", { fitness: "stalled", isProgressing: false, isActive: true }, "hand-over"],
    ["a leader that is no voter any more: hand over", { isActive: true, mayLead: false, canOthersLead: false }, "hand-over"],
    ["paused: nothing", { isPaused: true }, "none"],
    ["paused, and another one leads: nothing", { isPaused: true, isLeader: false, isActive: true }, "none"],
    ["stopped: nothing", { isStopped: true }, "none"],
  ])("%s", (_, situation, expected) => {
    expect(new SequencerMachine(OPTIONS).decide({ ...BASE, ...situation }).kind).toBe(expected);
  });

  const machine = (): {
    decide: (change: Partial<Situation>) => string;
    done: (isDone: boolean, change?: Partial<Situation>) => void;
  } => {
    const made = new SequencerMachine(OPTIONS);
    let last: ReturnType<SequencerMachine["decide"]> = { kind: "none" };
    let situation = BASE;
    return {
      decide: (change) => {
        situation = { ...situation, ...change };
        last = made.decide(situation);
        return last.kind;
      },
      done: (isDone, change = {}) => {
        situation = { ...situation, ...change };
        if (last.kind !== "none") made.done(last, isDone, situation);
      },
    };
  };

  it("gives a chain that stood still time to go on, and longer as long as it goes on", () => {
    const { decide, done } = machine();
    expect(decide({ fitness: "stalled", isProgressing: false })).toBe("start");
    done(true);
    expect(decide({ isActive: true, nowMs: 9_000 })).toBe("none");
    expect(decide({ isProgressing: true, nowMs: 60_000 })).toBe("none"); // the head is old, but moves
    expect(decide({ isProgressing: false, nowMs: 61_000 })).toBe("hand-over");
  });

  it("tries what failed again, ever more rarely, and at once when leadership changes", () => {
    const { decide, done } = machine();
    const waits: number[] = [];
    let nowMs = 0;
    for (let attempt = 0; attempt < 5; attempt++) {
      const sinceMs = nowMs;
      while (decide({ nowMs, canOthersLead: false }) === "none") nowMs += 50;
      waits.push(nowMs - sinceMs);
      done(false);
    }
    expect(waits).toEqual([0, 250, 500, 1_000, 2_000]);
    expect(decide({ isLeader: false, isActive: true })).toBe("stop");
  });

  it("leaves it to others when starts keep failing", () => {
    const { decide, done } = machine();
    let nowMs = 0;
    for (; nowMs < 10_000; nowMs += 500) if (decide({ nowMs }) === "start") done(false);
    expect(decide({ nowMs: 12_500 })).toBe("resign");
  });

  it("starts a sequencer again that does not continue the committed blocks", () => {
    const made = new SequencerMachine(OPTIONS);
    made.decide({ ...BASE, isActive: true });
    made.noteConflict();
    const stop = made.decide({ ...BASE, isActive: true });
    expect(stop.kind).toBe("stop");
    if (stop.kind !== "none") made.done(stop, true, BASE);
    expect(made.decide(BASE).kind).toBe("start");
    expect(made.decide({ ...BASE, isActive: true }).kind).toBe("none");
  });
});
