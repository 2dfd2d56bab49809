import { readFileSync } from "node:fs";
import { EVM_FORKS } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import * as layout from "./layout.ts";

const source = readFileSync(new URL("../../assembly/layout.ts", import.meta.url), "utf8");
const constants = new Map(
  [...source.matchAll(/export const (\w+): u32 = (\w+);/g)].map(([, name, value]) => [name!, Number(value)]),
);

describe("memory layout", () => {
  it("is the same in the engine and in its host", () => {
    const hostConstants = Object.entries(layout).filter(([, value]) => typeof value === "number");
    expect(hostConstants.length).toBeGreaterThan(60);
    for (const [name, value] of hostConstants) expect([name, constants.get(name)]).toEqual([name, value]);
  });

  it("names every halt, kind and fork", () => {
    const numbered = (prefix: string) => [...constants].filter(([name]) => name.startsWith(prefix)).map(([, value]) => value);
    expect(layout.HALT_NAMES.length).toBe(Math.max(...numbered("HALT_")) + 1);
    expect(layout.MESSAGE_KINDS.length).toBe(numbered("KIND_").length);
    const forkNames = EVM_FORKS.map((fork) => fork.replace(/([A-Z])/g, "_$1").toUpperCase());
    for (const [index, name] of forkNames.entries()) expect([name, constants.get(name)]).toEqual([name, index]);
  });
});
