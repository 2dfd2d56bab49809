import { expect, it } from "vitest";
import { logRefusedTokens } from "./refused-tokens.ts";

it("says that tokens are refused: at once, and then how many, once a minute", () => {
  let now = 0;
  const lines: unknown[] = [];
  const check = logRefusedTokens(
    (authorization) => (authorization === "Bearer good" ? { kind: "valid" } : { kind: "refused", reason: "missing token" }),
    { log: { warn: (_, fields) => void lines.push(fields) }, nowMs: () => now },
  );
  expect(check("Bearer good")).toEqual({ kind: "valid" });
  for (now = 0; now < 60_000; now += 1000) expect(check(undefined)).toMatchObject({ kind: "refused" });
  expect(lines).toEqual([{ reason: "missing token", refused: 1 }]);
  check(undefined);
  expect(lines.slice(1)).toEqual([{ reason: "missing token", refused: 60 }]);
});
