import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { genesisBlock } from "@rnode/chain";
import { bytesToHex, keccak256 } from "@rnode/primitives";
import { parseChainConfig, parseGenesis } from "@rnode/protocol";
import { beforeAll, describe, expect, it } from "vitest";
import { statetest } from "./statetest.ts";

const TO = `0x${"aa".repeat(20)}`;
const SENDER = `0x${"5e".repeat(20)}`;
const ZERO = `0x${"00".repeat(32)}`;

/** PUSH1 1, STOP; the expected hashes are wrong. */
const DOCTORED = {
  doctored: {
    env: {
      currentCoinbase: `0x${"c0".repeat(20)}`,
      currentNumber: "0x1",
      currentTimestamp: "0x1",
      currentGasLimit: "0x5f5e100",
      currentBaseFee: "0x7",
      currentDifficulty: "0x20000",
      currentRandom: "0x0",
    },
    pre: {
      [SENDER]: { balance: "0xde0b6b3a7640000", nonce: "0x0", code: "0x", storage: {} },
      [TO]: { balance: "0x0", nonce: "0x0", code: "0x600100", storage: {} },
    },
    transaction: { data: ["0x"], gasLimit: ["0x186a0"], value: ["0x0"], nonce: "0x0", to: TO, gasPrice: "0xa", sender: SENDER },
    post: {
      London: [{ hash: ZERO, logs: ZERO, indexes: { data: 0, gas: 0, value: 0 } }],
      Berlin: [{ hash: ZERO, logs: ZERO, indexes: { data: 0, gas: 0, value: 0 } }],
    },
  },
};

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "statetest-"));
  writeFileSync(join(folder, "doctored.json"), JSON.stringify(DOCTORED));
});

async function run(...args: string[]): Promise<{ code: number; out: string[]; err: string[] }> {
  const out: string[] = [];
  const err: string[] = [];
  const io = { out: (line: string) => void out.push(line), err: (line: string) => void err.push(line), progress: () => undefined };
  return { code: await statetest([folder, "--jobs=1", ...args], {}, io), out, err };
}

it("a case that fails is run again with a trace on standard error", async () => {
  const { code, out, err } = await run("--fork=London", "--json");
  expect(code).toBe(1);
  expect(JSON.parse(out.join("\n"))).toMatchObject({ passed: 0, failed: 1, skipped: [] });
  const lines = err.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines[0]).toMatchObject({ test: "doctored", fork: "London", index: 0 });
  expect(lines.slice(1, -1)).toMatchObject([
    { pc: 0, op: 0x60, gas: `0x${(79_000).toString(16)}`, gasCost: "0x3", depth: 1, stack: [] },
    { pc: 2, op: 0, stack: ["0x1"] },
  ]);
  expect(lines.at(-1)).toMatchObject({ pass: false });
});

it("as many as are asked for are traced", async () => {
  const ends = async (traces: number) =>
    (await run(`--traces=${traces}`)).err.filter((line) => line.includes('"pass":false')).length;
  expect(await ends(0)).toBe(0);
  expect(await ends(1)).toBe(1);
  expect(await ends(5)).toBe(2);
});

describe("a transaction that is refused leaves the state as it was", () => {
  const { env, pre, transaction } = DOCTORED.doctored;
  const root = (alloc: object): string => {
    const config = parseChainConfig({ chainId: 1 });
    const genesis = parseGenesis({ config: { chainId: 1 }, gasLimit: "0x5f5e100", alloc });
    return bytesToHex(genesisBlock(genesis, config).block.header.stateRoot);
  };
  const logs = bytesToHex(keccak256(Uint8Array.of(0xc0)));

  it.each(["Frontier", "Homestead", "EIP150", "EIP158", "Istanbul", "London"])("%s: no account of the coinbase", async (fork) => {
    const own = mkdtempSync(join(tmpdir(), "statetest-"));
    const { gasPrice, ...rest } = transaction;
    const refused = {
      refused: {
        env,
        pre,
        transaction: { ...rest, gasPrice, gasLimit: ["0x5207"] },
        post: {
          [fork]: [
            {
              hash: root(pre),
              logs,
              indexes: { data: 0, gas: 0, value: 0 },
              expectException: "TransactionException.INTRINSIC_GAS_TOO_LOW",
            },
          ],
        },
      },
    };
    writeFileSync(join(own, "refused.json"), JSON.stringify(refused));
    const out: string[] = [];
    const io = { out: (line: string) => void out.push(line), err: () => undefined, progress: () => undefined };
    expect([await statetest([own, "--jobs=1"], {}, io), out]).toEqual([0, ["1 passed, 0 failed"]]);
  });
});
