import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bytesToHex, hexToBytes, isCodedError } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import type { BlockRules } from "../chains/chain-config.ts";
import type { EvmFork } from "../forks/evm-forks.ts";
import { forkRules } from "../forks/rules.ts";
import { intrinsicGas } from "../rules/intrinsic-gas.ts";
import { checkTransaction } from "../rules/transaction-check.ts";
import { decodeTransaction, hashTransaction, recoverSender } from "./transaction-codec.ts";

const repository = resolve(dirname(fileURLToPath(import.meta.url)), "../../../../..");
const vectors = process.env.RNODE_VECTORS ?? resolve(repository, "../shared/vectors");
const archive = join(vectors, "ethereum-tests.tar.xz");

const FORKS: Readonly<Record<string, EvmFork>> = {
  Frontier: "frontier",
  Homestead: "homestead",
  EIP150: "tangerineWhistle",
  EIP158: "spuriousDragon",
  Byzantium: "byzantium",
  Constantinople: "constantinople",
  ConstantinopleFix: "petersburg",
  Istanbul: "istanbul",
  Berlin: "berlin",
  London: "london",
  Paris: "paris",
  Shanghai: "shanghai",
  Cancun: "cancun",
};

interface ForkResult {
  readonly exception?: string;
  readonly hash?: string;
  readonly intrinsicGas?: string;
  readonly sender?: string;
}
interface TransactionCase {
  readonly txbytes: string;
  readonly result: Readonly<Record<string, ForkResult>>;
}

function judge(txbytes: string, rules: BlockRules): ForkResult {
  try {
    const tx = decodeTransaction(hexToBytes(txbytes));
    const sender = recoverSender(tx, { allowHighS: rules.allowsHighS });
    const fault = checkTransaction(rules, tx);
    if (fault !== undefined) return { exception: fault };
    return { hash: bytesToHex(hashTransaction(tx)), intrinsicGas: String(intrinsicGas(rules, tx)), sender: bytesToHex(sender) };
  } catch (error) {
    if (isCodedError(error, "tx/")) return { exception: error.code };
    throw error;
  }
}

function checkFile(file: string): { cases: number; wrong: string[] } {
  const wrong: string[] = [];
  let cases = 0;
  for (const [name, { txbytes, result }] of Object.entries(
    JSON.parse(readFileSync(file, "utf8")) as Record<string, TransactionCase>,
  )) {
    for (const [forkName, expected] of Object.entries(result)) {
      const evm = FORKS[forkName];
      if (evm === undefined) throw new Error(`unknown fork ${forkName} in ${file}`);
      const got = judge(txbytes, { ...forkRules(evm), chainId: 1n, blobParams: undefined, isDaoForkBlock: false });
      cases++;
      const isRight =
        expected.exception === undefined
          ? got.hash === expected.hash &&
            got.sender === expected.sender &&
            BigInt(got.intrinsicGas ?? -1) === BigInt(expected.intrinsicGas!)
          : got.exception !== undefined;
      if (!isRight) wrong.push(`${name} ${forkName}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`);
    }
  }
  return { cases, wrong };
}

if (!existsSync(archive)) {
  it.skip(`TransactionTests of ethereum/tests were not run: ${archive} is missing`, () => {});
} else {
  const folder = mkdtempSync(join(tmpdir(), "rnode-transaction-tests-"));
  execFileSync("tar", ["-xJf", archive, "-C", folder, "--wildcards", "*TransactionTests*"]);

  describe("TransactionTests of ethereum/tests", () => {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
    it("are all there", () => {
      expect(files.length).toBeGreaterThan(200);
    });
    it.each(files.map((name) => [name.replace(/^.*TransactionTests\//, ""), join(folder, name)]))("%s", (_, file) => {
      const { cases, wrong } = checkFile(file);
      expect(cases).toBeGreaterThan(0);
      expect(wrong).toEqual([]);
    });
  });
}
