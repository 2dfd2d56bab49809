import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { bytesToHex, hexToBytes } from "./bytes.ts";
import { decodeRlp, encodeRlp, type RlpItem, rlpUint } from "./rlp.ts";

const repository = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const archive = join(process.env.RNODE_VECTORS ?? resolve(repository, "../shared/vectors"), "ethereum-tests.tar.xz");

type Value = string | number | readonly Value[];
/** A text is ASCII, or a decimal number after `#`. */
function itemOf(value: Value): RlpItem {
  if (typeof value === "number") return rlpUint(value);
  if (typeof value !== "string") return value.map(itemOf);
  return value.startsWith("#") ? rlpUint(BigInt(value.slice(1))) : Uint8Array.from(value, (character) => character.charCodeAt(0));
}

if (!existsSync(archive)) {
  it.skip(`RLPTests of ethereum/tests were not run: ${archive} is missing`, () => {});
} else {
  const folder = mkdtempSync(join(tmpdir(), "rnode-rlp-tests-"));
  execFileSync("tar", ["-xJf", archive, "-C", folder, "--wildcards", "*RLPTests*"]);
  const casesOf = (file: string): [string, Value, string][] =>
    Object.entries(
      JSON.parse(readFileSync(join(folder, "RLPTests", file), "utf8")) as Record<string, { in: Value; out: string }>,
    ).map(([name, test]) => [name, test.in, test.out]);

  describe("RLPTests of ethereum/tests", () => {
    const valid = casesOf("rlptest.json");
    const invalid = casesOf("invalidRLPTest.json");
    it("are all there", () => {
      expect([valid.length, invalid.length]).toEqual([28, 26]);
    });
    it.each(valid)("encodes and decodes %s", (_, value, hex) => {
      expect(bytesToHex(encodeRlp(itemOf(value)))).toBe(hex);
      expect(decodeRlp(hexToBytes(hex))).toEqual(itemOf(value));
    });
    it.each(invalid)("refuses %s", (_, __, hex) => {
      expect(() => decodeRlp(hexToBytes(hex))).toThrow(/^RLP: /);
    });
    it.each(casesOf("RandomRLPTests/example.json"))("decodes %s", (_, __, hex) => {
      expect(bytesToHex(encodeRlp(decodeRlp(hexToBytes(hex))))).toBe(hex);
    });
  });
}
