import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseOptions } from "@rnode/options";
import { NETWORKS, networkByName, type RollupConfig, rollupConfigToJson } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rnodeOptions } from "./options.ts";
import { loadDerivationConfig } from "./rollup-setup.ts";
import { testConfig } from "./testing/fake-chain.ts";

// biome-ignore lint/suspicious/noExplicitAny: JSON that the tests damage
type Json = any;

let folder: string;
const file = (name: string): string => join(folder, name);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-setup-"));
  const write = (name: string, content: unknown): void =>
    writeFileSync(file(name), typeof content === "string" ? content : JSON.stringify(content));
  const json = rollupConfigToJson(testConfig());
  write("rollup.json", json);
  write("unknown-key.json", { ...json, surprise: 1 });
  write("no-block-time.json", { ...json, block_time: 0 });
  write("broken.json", "{");
  const l1 = {
    chainId: 900,
    homesteadBlock: 0,
    eip150Block: 0,
    eip155Block: 0,
    eip158Block: 0,
    byzantiumBlock: 0,
    constantinopleBlock: 0,
    petersburgBlock: 0,
    istanbulBlock: 0,
    berlinBlock: 0,
    londonBlock: 0,
    terminalTotalDifficulty: 0,
    shanghaiTime: 0,
    cancunTime: 0,
    pragueTime: 50,
    blobSchedule: {
      cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3338477 },
      prague: { target: 6, max: 9, baseFeeUpdateFraction: 5007716 },
    },
  };
  write("l1.json", l1);
  write("l1-genesis.json", { config: l1, alloc: {} });
  write("l1-other.json", { ...l1, chainId: 901 });
});
afterAll(() => rmSync(folder, { recursive: true }));

function load(...args: string[]) {
  const parsed = parseOptions(rnodeOptions, ["--l2=http://localhost:8551", ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  return loadDerivationConfig(parsed.options);
}

const local = (...args: string[]) =>
  load(`--rollup.config=${file("rollup.json")}`, `--rollup.l1-chain-config=${file("l1.json")}`, ...args);

describe("loadDerivationConfig", () => {
  it("takes a named network with its L1's blob schedule", () => {
    const { rollup, l1BlobSchedule } = load("--network=op-mainnet");
    expect(rollup.l2ChainId).toBe(10n);
    expect(l1BlobSchedule.length).toBeGreaterThanOrEqual(2);
  });

  it("takes a file, or its content, and an L1 configuration or genesis", () => {
    const expected: RollupConfig = testConfig();
    const schedule = [
      { timeSec: 0, baseFeeUpdateFraction: 3338477n },
      { timeSec: 50, baseFeeUpdateFraction: 5007716n },
    ];
    expect(local().rollup).toEqual(expect.objectContaining({ l2ChainId: expected.l2ChainId, forkTimes: expected.forkTimes }));
    expect(local().l1BlobSchedule).toEqual(schedule);
    const inline = load(
      `--rollup.config=${JSON.stringify(rollupConfigToJson(expected))}`,
      `--rollup.l1-chain-config=${file("l1-genesis.json")}`,
    );
    expect(inline.rollup.genesis.l2).toEqual(expected.genesis.l2);
    expect(inline.l1BlobSchedule).toEqual(schedule);
  });

  it.each(NETWORKS.map(({ name }) => name))("takes --network=%s, and needs nothing else", (name) => {
    const { rollup, l1BlobSchedule } = load(`--network=${name}`);
    expect(rollup.l2ChainId).toBe(BigInt(networkByName(name)!.l2ChainId));
    expect(l1BlobSchedule.length).toBeGreaterThanOrEqual(2);
  });

  it.each<[string, (json: Json) => unknown, string]>([
    ["genesis.system_config.gasLimit", (json) => (json.genesis.system_config.gasLimit = "much"), "an integer above 0"],
    ["genesis.l1.hash", (json) => (json.genesis.l1.hash = "0x12"), ""],
    ["genesis.l2.nonsense", (json) => (json.genesis.l2.nonsense = 1), ""],
    ["seq_window_size", (json) => (json.seq_window_size = 1), "an integer, 2 L1 blocks or more"],
    ["batch_inbox_address", (json) => (json.batch_inbox_address = undefined), ""],
    ["chain_op_config.eip1559Elasticity", (json) => (json.chain_op_config.eip1559Elasticity = 0), "an integer above 0"],
  ])("says that %s is wrong in a rollup configuration", (key, damage, expected) => {
    const json = structuredClone(rollupConfigToJson(testConfig())) as unknown as Json;
    damage(json);
    writeFileSync(file("damaged.json"), JSON.stringify(json));
    expect(() => load(`--rollup.config=${file("damaged.json")}`)).toThrow(
      new RegExp(`^--rollup.config .*damaged.json: .*${key.replaceAll(".", "\\.")}.*${expected}`),
    );
  });

  it.each<[string, (json: Json) => unknown, (json: Json) => unknown]>([
    ["cancunTime", (json) => (json.cancunTime = "soon"), (json) => json],
    ["config.cancunTime", (json) => (json.cancunTime = "soon"), (json) => ({ config: json })],
    ["config.chainId", (json) => delete json.chainId, (json) => ({ config: json })],
    ["config.blobSchedule.prague.max", (json) => (json.blobSchedule.prague.max = -1), (json) => ({ config: json })],
  ])("says that %s is wrong in an L1 configuration", (key, damage, wrap) => {
    const json = JSON.parse(readFileSync(file("l1.json"), "utf8")) as Json;
    damage(json);
    writeFileSync(file("l1-damaged.json"), JSON.stringify(wrap(json)));
    expect(() => load(`--rollup.config=${file("rollup.json")}`, `--rollup.l1-chain-config=${file("l1-damaged.json")}`)).toThrow(
      new RegExp(`^--rollup.l1-chain-config .*l1-damaged.json: .*${key.replaceAll(".", "\\.")}: expected `),
    );
  });

  it("overrides forks, 0 included", () => {
    const { forkTimes } = load("--network=op-sepolia", "--override.canyon=0", "--override.jovian=1781712000").rollup;
    expect([forkTimes.canyon, forkTimes.jovian]).toEqual([0, 1_781_712_000]);
    const late = ["--override.karst=1900000000", "--override.lagoon=2000000000"];
    expect(load("--network=op-sepolia", ...late).rollup.forkTimes).toMatchObject({ karst: 1_900_000_000, interop: 2_000_000_000 });
    expect(local("--override.pectrablobschedule=7").rollup.pectraBlobScheduleTime).toBe(7);
  });

  it.each<[string, string[], RegExp]>([
    ["neither a network nor a file", [], /^--network or --rollup.config is required/],
    ["an unknown network", ["--network=nowhere"], /^--network: .*nowhere/],
    ["a file that is not there", ["--rollup.config=/nowhere.json"], /^--rollup.config: cannot read \/nowhere.json/],
    ["a file that is not JSON", ["--rollup.config=BROKEN"], /^--rollup.config .*broken.json/],
    ["a key that is not known", ["--rollup.config=UNKNOWN"], /surprise/],
    ["a value that cannot be", ["--rollup.config=NOTIME"], /block_time/],
    ["a private L1 without its configuration", ["--rollup.config=GOOD"], /^--rollup.l1-chain-config is required: L1 chain 900/],
    [
      "an L1 configuration of another chain",
      ["--rollup.config=GOOD", "--rollup.l1-chain-config=OTHER"],
      /is of chain 901, but the rollup's L1 is chain 900/,
    ],
    ["forks out of order", ["--network=op-sepolia", "--override.granite=99999999999"], /^--override.granite: /],
    [
      "a bundle folder that is not there",
      ["--network=op-sepolia", "--rollup.upgrades-dir=/nowhere"],
      /^--rollup.upgrades-dir \/nowhere/,
    ],
  ])("refuses %s in one line", (_, args, message) => {
    const paths = {
      BROKEN: "broken.json",
      UNKNOWN: "unknown-key.json",
      NOTIME: "no-block-time.json",
      GOOD: "rollup.json",
      OTHER: "l1-other.json",
    };
    const resolved = args.map((arg) =>
      Object.entries(paths).reduce((text, [word, name]) => text.replace(`=${word}`, `=${file(name)}`), arg),
    );
    expect(() => load(...resolved)).toThrow(message);
    expect(() => load(...resolved)).not.toThrow(/\n/);
  });
});
