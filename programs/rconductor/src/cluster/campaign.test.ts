import { describe, expect, it } from "vitest";
import { type Candidate, checkCampaign, UNFIT_DELAY_MS } from "./campaign.ts";
import type { ClusterView } from "./cluster-view.ts";
import type { HeadRecord, MemberRecord } from "./records.ts";

const HEAD: HeadRecord = {
  number: 10,
  hash: "0x10",
  parentHash: "0x09",
  fence: 1,
  leader: "b",
  l1Origin: { number: 1, hash: "0x01" },
  chunks: 1,
  recent: [],
};
const ME: Candidate = { id: "a", fitness: "healthy", unsafe: 10, mayBootstrap: false, isStopped: false };
const VIEW: ClusterView = {
  revision: 1,
  leader: undefined,
  transfer: undefined,
  head: HEAD,
  members: [],
  roster: { nonvoters: [], removed: [], version: 0 },
};

const member = (id: string, unsafe: number, fitness: MemberRecord["fitness"] = "stalled"): ClusterView["members"][number] => ({
  id,
  unsafe,
  fitness,
  addr: "",
  executionRpc: "",
  rollupRpc: "",
  leaseId: "",
});

type Case = readonly [
  what: string,
  me: Partial<Candidate>,
  view: Partial<ClusterView>,
  leaderlessMs: number,
  expected: RegExp | "campaign",
];

describe("a candidate", () => {
  it.each<Case>([
    ["that is healthy tries at once", {}, {}, 0, "campaign"],
    ["whose chain stands still tries at once: it may be the dead leader's fault", { fitness: "stalled" }, {}, 0, "campaign"],
    ["that is unfit leaves others the first try", { fitness: "unfit" }, {}, UNFIT_DELAY_MS - 1, /fitter/],
    ["that is unfit tries when nobody else has", { fitness: "unfit" }, {}, UNFIT_DELAY_MS, "campaign"],
    ["that lacks more than the last block leaves others the first try", { unsafe: 8 }, {}, 0, /fitter/],
    ["that lacks the last block has it from etcd", { unsafe: 9 }, {}, 0, "campaign"],
    ["that lacks blocks tries when nobody else has", { unsafe: 1 }, {}, UNFIT_DELAY_MS, "campaign"],
    [
      "that lacks blocks which another has waits, whatever is committed",
      { unsafe: 10 },
      { members: [member("b", 12)] },
      0,
      /fitter/,
    ],
    ["one block behind another tries", { unsafe: 10 }, { members: [member("b", 11)] }, 0, "campaign"],
    [
      "waits for each member with more blocks",
      { unsafe: 10 },
      { members: [member("b", 12), member("c", 20)] },
      2 * UNFIT_DELAY_MS - 1,
      /fitter/,
    ],
    [
      "that others are ahead of tries at last",
      { unsafe: 10 },
      { members: [member("b", 12), member("c", 20)] },
      2 * UNFIT_DELAY_MS,
      "campaign",
    ],
    [
      "waits for none that could not lead",
      { unsafe: 10 },
      { members: [member("b", 12, "unfit"), member("c", 20, "down")] },
      0,
      "campaign",
    ],
    [
      "waits for no member that may not lead",
      { unsafe: 10 },
      { members: [member("b", 12)], roster: { nonvoters: ["b"], removed: [], version: 1 } },
      0,
      "campaign",
    ],
    ["whose programs do not answer never tries", { fitness: "down" }, {}, 60_000, /answer/],
    ["that was stopped never tries", { isStopped: true }, {}, 60_000, /conductor_stop/],
    ["that is no voter never tries", {}, { roster: { nonvoters: ["a"], removed: [], version: 3 } }, 60_000, /no voter/],
    ["that was removed never tries", {}, { roster: { nonvoters: [], removed: ["a"], version: 3 } }, 60_000, /removed/],
    ["begins no chain of commits", {}, { head: undefined }, 60_000, /--bootstrap/],
    ["begins one if it may", { mayBootstrap: true }, { head: undefined }, 0, "campaign"],
    ["that was chosen by a transfer tries at once", { fitness: "unfit" }, { transfer: { from: "b", to: "a" } }, 0, "campaign"],
    ["that was not chosen waits", {}, { transfer: { from: "b", to: "c" } }, 60_000, /after a transfer/],
    ["that gave leadership up waits", {}, { transfer: { from: "a" } }, 60_000, /after a transfer/],
    ["other than the one that gave it up tries", {}, { transfer: { from: "b" } }, 0, "campaign"],
  ])("%s", (_, me, view, leaderlessMs, expected) => {
    const verdict = checkCampaign({ ...ME, ...me }, { ...VIEW, ...view }, leaderlessMs);
    if (expected === "campaign") expect(verdict).toEqual({ kind: "campaign" });
    else expect(verdict).toEqual({ kind: "wait", reason: expect.stringMatching(expected) });
  });
});
