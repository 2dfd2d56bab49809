import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { Attacker } from "./attacker.ts";
import type { Target } from "./target.ts";

describe("an attacker", () => {
  it("waits for the end of the attack with one listener, however many pauses it has, and all of them end then", async () => {
    const over = new AbortController();
    const options = { signal: over.signal, target: {} as Target, from: "127.0.0.2", maxConnections: 1 };
    const attacker = new Attacker({ ...options, random: () => 0, onBreach: () => {} });
    const pauses = Array.from({ length: 50 }, () => attacker.untilOver());
    await attacker.pause(1);
    expect(getEventListeners(over.signal, "abort")).toHaveLength(1);
    over.abort();
    await Promise.all(pauses);
    await attacker.untilOver();
  });
});
