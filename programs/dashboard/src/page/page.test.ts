import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { HeadsSample, L1Row } from "../messages.ts";
import { bytes, count, counted, duration, ether, fee, gas, shortHash } from "./format.ts";
import { pipelineLines, tally } from "./pipeline-rows.ts";
import { conditionOf, entriesOf, rolesOf, Store } from "./store.ts";

const PROGRAM = { id: "n", name: "sequencer rnode", kind: "rnode", version: "v1", startedMs: 1 };

function storeOf(...events: readonly (readonly [event: string, message: object])[]): Store {
  const store = new Store();
  for (const [event, message] of events) store.receive(event, JSON.stringify({ ...PROGRAM, ...message }));
  return store;
}
const feed = (entries: readonly (readonly [string, number | string, unknown])[], atMs = 5_000) =>
  ["feed", { atMs, entries, left: 0 }] as const;
const only = (store: Store) => [...store.programs.values()][0]!;

describe("the store", () => {
  it("replaces what it knows under a key, and gives entries in the order of their keys", () => {
    const store = storeOf(
      ["program", {}],
      feed([
        ["block", 9, { a: 1 }],
        ["block", 7, { a: 2 }],
      ]),
      feed([["block", 9, { a: 3 }]]),
    );
    expect(entriesOf(only(store), "block")).toEqual([
      [7, { a: 2 }],
      [9, { a: 3 }],
    ]);
  });

  it("is bounded, however long the page is open", () => {
    const store = storeOf(["program", {}]);
    for (let block = 0; block < 2_000; block++)
      store.receive("feed", JSON.stringify({ id: "n", atMs: block, entries: [["block", block, {}]], left: 0 }));
    expect(entriesOf(only(store), "block")).toHaveLength(400);
    expect(entriesOf(only(store), "block").at(-1)![0]).toBe(1_999);
  });

  it("makes samples of the heads from the state", () => {
    const head = (number: number, timeSec: number) => ({ number, timeSec });
    const sync = {
      unsafe: head(9, 4),
      safe: head(7, 2),
      finalized: head(1, 1),
      sequencer: "none",
      queuedBlocks: 0,
      queuedBytes: 0,
    };
    const store = storeOf(["program", {}], feed([["state", "sync", sync]]));
    const [[atMs, sample]] = entriesOf<HeadsSample>(only(store), "heads") as [[number, HeadsSample]];
    expect([atMs, sample]).toEqual([
      5_000,
      { unsafe: 9, safe: 7, finalized: 1, unsafeAgeSec: 1, safeAgeSec: 3, finalizedAgeSec: 4 },
    ]);
  });

  it("says how a program is: expected, at work, not ready, down, and at work again", () => {
    const store = storeOf(["expected", { reasons: [] }]);
    const condition = () => conditionOf(only(store));
    const receive = (event: string, message: object) => store.receive(event, JSON.stringify({ ...PROGRAM, ...message }));
    expect(condition().condition).toBe("waiting");
    receive("program", {});
    expect(condition().condition).toBe("ready");
    receive("feed", { atMs: 1, left: 0, entries: [["state", "health", { isReady: false, reasons: ["finding the heads"] }]] });
    expect(condition()).toEqual({ condition: "not-ready", reasons: ["finding the heads"] });
    receive("down", { reasons: ["it was ended by SIGKILL"] });
    expect(condition()).toEqual({ condition: "down", reasons: ["it was ended by SIGKILL"] });
    receive("feed", { atMs: 2, left: 0, entries: [["block", 1, {}]] });
    receive("program", { startedMs: 2 });
    expect([condition().condition, entriesOf(only(store), "block")]).toEqual(["not-ready", []]);
  });

  it("finds the roles that programs play", () => {
    const store = storeOf(
      ["program", {}],
      ["program", { id: "e", name: "verifier rengine", kind: "rengine" }],
      ["program", { id: "b", name: "rbatcher", kind: "rbatcher" }],
    );
    expect(rolesOf(store.programs.values())).toEqual(["sequencer", "verifier"]);
    expect(rolesOf(storeOf(["program", { name: "rnode" }]).programs.values())).toEqual([]);
  });
});

describe("the pipeline", () => {
  const row = (number: number, more: Partial<L1Row> = {}): L1Row => ({
    number,
    timeSec: 0,
    data: [],
    dataCount: 0,
    dataBytes: 0,
    frames: [],
    frameCount: 0,
    channels: [],
    batches: [],
    batchCount: 0,
    dropCount: 0,
    ...more,
  });

  it("puts L1 blocks without anything of the batcher together, the newest first", () => {
    const rows = [row(1), row(2), row(3, { dataCount: 1 }), row(4), row(6), row(7, { dropCount: 1 })];
    expect(pipelineLines(rows, 10).map((line) => (line.kind === "empty" ? `${line.from}-${line.to}` : line.row.number))).toEqual([
      ...[7, "6-6", "4-4", 3, "1-2"],
    ]);
    expect(pipelineLines(rows, 2)).toHaveLength(2);
  });

  it("counts what there is", () => {
    expect(tally(["accept", "epoch-too-old", "accept"])).toBe("2 accept, epoch-too-old");
  });
});

it("writes numbers for people", () => {
  expect([count(1234567), count(undefined), counted(1, "block"), counted(2, "batch", "batches")]).toEqual([
    "1,234,567",
    "–",
    "1 block",
    "2 batches",
  ]);
  expect([bytes(999), bytes(1_500), bytes(431_000), bytes(2_000_000_000)]).toEqual(["999 B", "1.5 kB", "431 kB", "2.0 GB"]);
  expect([duration(59.4), duration(60), duration(3_725), duration(90_000)]).toEqual(["59 s", "1 min", "1 h 2 min", "1 d 1 h"]);
  expect([gas(0), gas(46_218), gas(30_000_000)]).toEqual(["0", "46 k", "30 M"]);
  expect([ether(0), ether(0.000_052), ether(0.000_71), ether(9999.82)]).toEqual([
    "0 ETH",
    "52 µETH",
    "0.00071 ETH",
    "9,999.82 ETH",
  ]);
  expect([fee(252), fee(252_000_000)]).toEqual(["252 wei", "0.25 gwei"]);
  expect(shortHash(`0x${"ab".repeat(32)}`)).toBe("0xababab…abab");
});

describe("the colours", () => {
  const css = readFileSync(join(import.meta.dirname, "style.css"), "utf8");
  const themes = Object.fromEntries(
    [
      ["light", /:root \{([^}]*)\}/],
      ["dark", /data-theme="dark"\] \{([^}]*)\}/],
    ].map(([name, pattern]) => {
      const [, block = ""] = (pattern as RegExp).exec(css) ?? [];
      return [
        name as string,
        Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, variable, colour]) => [variable!, colour!])),
      ];
    }),
  );
  const luminance = (colour: string): number => {
    const [r, g, b] = [1, 3, 5]
      .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
      .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a: string, b: string): number => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
    return (light + 0.05) / (dark + 0.05);
  };

  // WCAG 2.2: 4.5 for text, 3 for graphics
  it.each(["light", "dark"])("can be read: %s", (theme) => {
    const colours = themes[theme]!;
    for (const text of ["text", "muted", "safe", "bad", "good", "warn"]) {
      for (const ground of ["panel", "raised", "ground"]) {
        expect([text, ground, contrast(colours[text]!, colours[ground]!) >= 4.5]).toEqual([text, ground, true]);
      }
    }
    for (const kind of ["bad", "good", "warn"]) {
      expect([kind, contrast(colours[kind]!, colours[`${kind}-ground`]!) >= 4.5]).toEqual([kind, true]);
      expect([kind, contrast(colours.text!, colours[`${kind}-ground`]!) >= 4.5]).toEqual([kind, true]);
    }
    for (const line of ["l1", "unsafe", "safe", "finalized", "da"]) {
      expect([line, contrast(colours[line]!, colours.panel!) >= 3]).toEqual([line, true]);
    }
  });
});
