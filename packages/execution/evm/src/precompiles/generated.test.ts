import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it.each(["generate-field", "generate-bls12-381", "generate-modexp"])("scripts/%s.mjs writes what is in assembly/", (name) => {
  const script = fileURLToPath(new URL(`../../scripts/${name}.mjs`, import.meta.url));
  expect(execFileSync(process.execPath, [script, "--check"], { encoding: "utf8" })).toBe("");
});
