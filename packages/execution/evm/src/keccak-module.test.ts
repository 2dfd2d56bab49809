import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("scripts/build-keccak.mjs writes what is in packages/base/primitives/src/hash/keccak-wasm.ts", { tags: "long" }, () => {
  const script = fileURLToPath(new URL("../scripts/build-keccak.mjs", import.meta.url));
  expect(execFileSync(process.execPath, [script, "--check"], { encoding: "utf8" })).toBe("");
});
