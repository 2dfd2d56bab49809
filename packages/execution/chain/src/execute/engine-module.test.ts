import { expect, it } from "vitest";
import { newEngine, warmUpOnce } from "./engine-module.ts";

it("warms up the code of all engines of a process once", () => {
  warmUpOnce(newEngine());
  const engine = newEngine();
  warmUpOnce(engine);
  expect(engine.gasBurned).toBe(0n);
  engine.warmUp();
  expect(engine.gasBurned).toBeGreaterThan(0n);
});
