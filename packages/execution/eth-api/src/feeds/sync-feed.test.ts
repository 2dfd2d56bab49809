import { describe, expect, it } from "vitest";
import { SyncFeed, type SyncState, syncNotice, syncStatusToJson } from "./sync-feed.ts";

const R = { hasSyncStages: true };
const G = { hasSyncStages: false };
const state: SyncState = { startingBlock: 3, currentBlock: 16, highestBlock: 255, headers: 255, bodies: 32 };

describe("eth_syncing", () => {
  it("is false for G and the head's object for R while nothing is synced", () => {
    expect(syncStatusToJson(G, undefined, 9, 2)).toBe(false);
    const answer = syncStatusToJson(R, undefined, 9, 2);
    expect(answer).toMatchObject({ startingBlock: "0x2", currentBlock: "0x9", highestBlock: "0x9" });
    expect(new Set((answer as { stages: { block: string }[] }).stages.map(({ block }) => block))).toEqual(new Set(["0x9"]));
  });

  it("shows R's stages at different blocks during a sync", () => {
    const answer = syncStatusToJson(R, state, 17, 2) as { stages: { name: string; block: string }[] };
    expect(answer).toMatchObject({ startingBlock: "0x3", currentBlock: "0x11", highestBlock: "0xff" });
    const stages = Object.fromEntries(answer.stages.map(({ name, block }) => [name, block]));
    expect(stages).toMatchObject({ Headers: "0xff", Bodies: "0x20", Execution: "0x11", MerkleExecute: "0x11", Finish: "0x11" });
  });

  it("shows G's object during a sync", () => {
    expect(syncStatusToJson(G, state, 17, 2)).toMatchObject({
      startingBlock: "0x3",
      currentBlock: "0x11",
      highestBlock: "0xff",
      syncedAccounts: "0x0",
      healingBytecode: "0x0",
    });
    const withState = { ...state, state: { accounts: 3, slots: 4, healedNodes: 5 } };
    expect(syncStatusToJson(G, withState, 17, 2)).toMatchObject({
      syncedAccounts: "0x3",
      syncedStorage: "0x4",
      healedTrienodes: "0x5",
    });
  });
});

describe("the subscription to syncing", () => {
  it("is told when a sync begins and ends, not in between", () => {
    const feed = new SyncFeed();
    const told: unknown[] = [];
    const end = feed.onChange((now) => told.push(syncNotice(R, now), syncNotice(G, now)));
    feed.set(undefined);
    feed.set(state);
    feed.set({ ...state, currentBlock: 20 });
    feed.set(undefined);
    end();
    feed.set(state);
    expect(told).toEqual([
      { syncing: true, startingBlock: 3, currentBlock: 16, highestBlock: 255 },
      { syncing: true, status: { StartingBlock: 3, CurrentBlock: 16, HighestBlock: 255 } },
      false,
      false,
    ]);
  });
});
