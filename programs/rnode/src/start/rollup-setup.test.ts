import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseOptions } from "@rnode/program";
import { NETWORKS, networkByName, type RollupConfig, rollupConfigOf, rollupConfigToJson } from "@rnode/protocol";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { rnodeOptions } from "../options.ts";
import { testConfig } from "../testing/fake-chain.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { assertAltDa, loadDerivationConfig } from "./rollup-setup.ts";

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
  write("unknown-fork.json", { ...json, surprise_time: 1 });
  write("unknown-key.json", { ...json, surprise: 1, genesis: { ...(json.genesis as object), colour: "red" } });
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

const { log, logs } = recordingLogger();
let nowMs = Date.parse("2026-11-27");
beforeEach(() => {
  logs.length = 0;
  nowMs = Date.parse("2026-11-27");
});

async function load(...args: string[]) {
  const parsed = parseOptions(rnodeOptions, ["--l2=http://localhost:8551", ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  return await loadDerivationConfig(parsed.options, { log, clock: { unixMs: () => nowMs } });
}

const local = (...args: string[]) =>
  load(`--rollup.config=${file("rollup.json")}`, `--rollup.l1-chain-config=${file("l1.json")}`, ...args);

describe("loadDerivationConfig", () => {
  it("takes a named network with its L1's blob schedule", async () => {
    const { rollup, l1BlobSchedule } = await load("--network=op-mainnet");
    expect(rollup.l2ChainId).toBe(10n);
    expect(l1BlobSchedule.length).toBeGreaterThanOrEqual(2);
  });

  it("takes a file, or its content, and an L1 configuration or genesis", async () => {
    const expected: RollupConfig = testConfig();
    const schedule = [
      { timeSec: 0, baseFeeUpdateFraction: 3338477n },
      { timeSec: 50, baseFeeUpdateFraction: 5007716n },
    ];
    expect((await local()).rollup).toEqual(
      expect.objectContaining({ l2ChainId: expected.l2ChainId, forkTimes: expected.forkTimes }),
    );
    expect((await local()).l1BlobSchedule).toEqual(schedule);
    expect((await local()).dependencySet).toBeUndefined();
    const inline = await load(
      `--rollup.config=${JSON.stringify(rollupConfigToJson(expected))}`,
      `--rollup.l1-chain-config=${file("l1-genesis.json")}`,
    );
    expect(inline.rollup.genesis.l2).toEqual(expected.genesis.l2);
    expect(inline.l1BlobSchedule).toEqual(schedule);
  });

  it.each(NETWORKS.map(({ name }) => name))("takes --network=%s, and needs nothing else", async (name) => {
    const { rollup, l1BlobSchedule, dependencySet } = await load(`--network=${name}`);
    expect(dependencySet?.chainIds).toContain(rollup.l2ChainId);
    expect(rollup.l2ChainId).toBe(BigInt(networkByName(name)!.l2ChainId));
    expect(l1BlobSchedule.length).toBeGreaterThanOrEqual(2);
  });

  it.each<[string, (json: Json) => unknown, string]>([
    ["genesis.system_config.gasLimit", (json) => (json.genesis.system_config.gasLimit = "much"), "an integer above 0"],
    ["genesis.l1.hash", (json) => (json.genesis.l1.hash = "0x12"), ""],
    ["seq_window_size", (json) => (json.seq_window_size = 1), "an integer, 2 L1 blocks or more"],
    ["batch_inbox_address", (json) => (json.batch_inbox_address = undefined), ""],
    ["chain_op_config.eip1559Elasticity", (json) => (json.chain_op_config.eip1559Elasticity = 0), "an integer above 0"],
  ])("says that %s is wrong in a rollup configuration", async (key, damage, expected) => {
    const json = structuredClone(rollupConfigToJson(testConfig())) as unknown as Json;
    damage(json);
    writeFileSync(file("damaged.json"), JSON.stringify(json));
    await expect(load(`--rollup.config=${file("damaged.json")}`)).rejects.toThrow(
      new RegExp(`^--rollup.config .*damaged.json: .*${key.replaceAll(".", "\\.")}.*${expected}`),
    );
  });

  it.each<[string, (json: Json) => unknown, (json: Json) => unknown]>([
    ["cancunTime", (json) => (json.cancunTime = "soon"), (json) => json],
    ["config.cancunTime", (json) => (json.cancunTime = "soon"), (json) => ({ config: json })],
    ["config.chainId", (json) => delete json.chainId, (json) => ({ config: json })],
    ["config.blobSchedule.prague.max", (json) => (json.blobSchedule.prague.max = -1), (json) => ({ config: json })],
  ])("says that %s is wrong in an L1 configuration", async (key, damage, wrap) => {
    const json = JSON.parse(readFileSync(file("l1.json"), "utf8")) as Json;
    damage(json);
    writeFileSync(file("l1-damaged.json"), JSON.stringify(wrap(json)));
    await expect(
      load(`--rollup.config=${file("rollup.json")}`, `--rollup.l1-chain-config=${file("l1-damaged.json")}`),
    ).rejects.toThrow(new RegExp(`^--rollup.l1-chain-config .*l1-damaged.json: .*${key.replaceAll(".", "\\.")}: expected `));
  });

  it("overrides forks, 0 included", async () => {
    const { forkTimes } = (await load("--network=op-sepolia", "--override.canyon=0", "--override.jovian=1781712000")).rollup;
    expect([forkTimes.canyon, forkTimes.jovian]).toEqual([0, 1_781_712_000]);
    const late = ["--override.karst=1900000000", "--override.lagoon=2000000000"];
    expect((await load("--network=op-sepolia", ...late)).rollup.forkTimes).toMatchObject({
      karst: 1_900_000_000,
      lagoon: 2_000_000_000,
    });
    expect((await local("--override.pectrablobschedule=7")).rollup.pectraBlobScheduleTime).toBe(7);
  });

  it.each<[string, string[], RegExp]>([
    ["neither a network nor a file", [], /^--network or --rollup.config is required/],
    ["an unknown network", ["--network=nowhere"], /^--network: .*nowhere/],
    ["a file that is not there", ["--rollup.config=/nowhere.json"], /^--rollup.config: cannot read \/nowhere.json/],
    ["a file that is not JSON", ["--rollup.config=BROKEN"], /^--rollup.config .*broken.json/],
    ["a fork that is not known", ["--rollup.config=UNKNOWN"], /surprise_time: expected a fork that this version knows/],
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
  ])("refuses %s in one line", async (_, args, message) => {
    const paths = {
      BROKEN: "broken.json",
      UNKNOWN: "unknown-fork.json",
      NOTIME: "no-block-time.json",
      GOOD: "rollup.json",
      OTHER: "l1-other.json",
    };
    const resolved = args.map((arg) =>
      Object.entries(paths).reduce((text, [word, name]) => text.replace(`=${word}`, `=${file(name)}`), arg),
    );
    await expect(load(...resolved)).rejects.toThrow(message);
    await expect(load(...resolved)).rejects.not.toThrow(/\n/);
  });

  it("names unknown keys of a rollup configuration and goes on", async () => {
    const path = file("unknown-key.json");
    await load(`--rollup.config=${path}`, `--rollup.l1-chain-config=${file("l1.json")}`);
    const text = "the rollup configuration has a key that is not known";
    expect(logs).toEqual(["surprise", "genesis.colour"].map((key) => ({ level: "warn", text, fields: { file: path, key } })));
  });

  it("reads a fork's time under its old name, and says so", async () => {
    const { config, karst } = { config: JSON.parse(readFileSync(file("rollup.json"), "utf8")) as object, karst: 2_000_000_000 };
    const times = { jovian_time: karst - 2, karst_time: karst, interop_time: karst + 2 };
    const path = file("old-key.json");
    writeFileSync(path, JSON.stringify({ ...config, ...times }));
    const set = file("old-key-set.json");
    writeFileSync(set, '{"dependencies": {"901": {}}}');
    const args = [`--rollup.config=${path}`, `--rollup.l1-chain-config=${file("l1.json")}`, `--interop.dependency-set=${set}`];
    expect((await load(...args)).rollup.forkTimes.lagoon).toBe(karst + 2);
    const text = "the rollup configuration has a key under its old name";
    expect(logs.filter(({ level }) => level === "warn")).toEqual([
      { level: "warn", text, fields: { file: path, key: "interop_time", use: "lagoon_time" } },
    ]);
    expect((await load(...args, `--override.interop=${karst + 4}`)).rollup.forkTimes.lagoon).toBe(karst + 4);
    writeFileSync(path, JSON.stringify({ ...config, ...times, lagoon_time: karst + 6 }));
    await expect(load(...args)).rejects.toThrow(/^--rollup.config .*: interop_time: .*lagoon_time \(2000000006\).*got 2000000002/);
  });

  it("says whether the chain is in a cluster, and refuses to start without the set that a fork needs", async () => {
    const soon = `--override.lagoon=2000000001`;
    expect(await load("--network=ink-sepolia", soon)).toMatchObject({
      isInCluster: false,
      dependencySet: { chainIds: [763_373n] },
    });
    expect(await load("--network=op-sepolia")).toMatchObject({
      isInCluster: true,
      dependencySet: { chainIds: [1301n, 11_155_420n] },
    });
    const set = file("two.json");
    writeFileSync(set, '{"dependencies": {"763373": {}, "1301": {}}}');
    expect((await load("--network=ink-sepolia", `--interop.dependency-set=${set}`)).isInCluster).toBe(true);
    expect(await local()).toMatchObject({ isInCluster: false, dependencySet: undefined });
    await expect(local("--override.karst=2000000000", soon)).rejects.toThrow(
      /^--interop\.dependency-set is required: lagoon_time \(--override\.lagoon\) is 2000000001, /,
    );
  });

  it("keeps the gas of Karst's upgrade where the network, or the option, says so", async () => {
    const keepsOf = async (...args: string[]) => (await load(...args)).rollup.keepKarstUpgradeGas;
    expect(await keepsOf("--network=op-mainnet")).toBe(true);
    expect(await keepsOf("--network=op-mainnet", "--override.keep-karst-upgrade-gas=false")).toBe(false);
    expect(await keepsOf("--network=zora-mainnet")).toBeUndefined();
    expect(await keepsOf("--network=zora-mainnet", "--override.keep-karst-upgrade-gas")).toBe(true);
    const parsed = parseOptions(rnodeOptions, ["--l2=http://l2"], { RNODE_OVERRIDE_KEEP_KARST_UPGRADE_GAS: "true" });
    expect(parsed).toMatchObject({ options: { override: { keepKarstUpgradeGas: true } } });
  });

  it("checks the schedule with its overrides", async () => {
    const jovian = rollupConfigOf(networkByName("op-sepolia")!).forkTimes.jovian;
    await expect(load("--network=op-sepolia", `--override.karst=${jovian}`)).rejects.toThrow(
      /^--override.karst: karst_time: expected later than jovian_time/,
    );
    await expect(load("--network=bob-mainnet", "--override.lagoon=1900000000")).rejects.toThrow(
      /^--override.lagoon: .*because .* is not set/,
    );
  });

  it("says that the table is old, unless a registry was given", async () => {
    await load("--network=zora-mainnet");
    expect(logs).toEqual([]);
    nowMs = Date.parse("2027-02-05");
    await load("--network=zora-mainnet");
    expect(logs).toMatchObject([
      { level: "warn", text: "the table of networks is older than six months", fields: { day: "2026-08-04" } },
    ]);
    logs.length = 0;
    await local();
    expect(logs).toEqual([]);
  });

  it("says why no client follows Base", async () => {
    for (const name of ["base", "base-mainnet", "base-sepolia"]) {
      await expect(load(`--network=${name}`)).rejects.toThrow(/^--network: Base.* Run base-reth-node and base-consensus/);
    }
    writeFileSync(file("base.json"), JSON.stringify({ ...rollupConfigToJson(testConfig()), l2_chain_id: 8453 }));
    await load(`--rollup.config=${file("base.json")}`, `--rollup.l1-chain-config=${file("l1.json")}`);
    expect(logs).toMatchObject([{ level: "warn", fields: { reason: expect.stringMatching(/^Base \(chain 8453\)/) as string } }]);
  });

  it("says that a network was removed upstream", async () => {
    await expect(load("--network=mint")).rejects.toThrow(
      /^--network: mint-mainnet was removed from the superchain registry by 2026-11-25/,
    );
  });

  it("takes a network from a registry", async () => {
    const folderOf = join(folder, "registry/superchain/configs/sepolia");
    mkdirSync(folderOf, { recursive: true });
    writeFileSync(join(folderOf, "superchain.toml"), "[l1]\nchain_id = 11155111\n");
    const word = (digit: string): string => `"0x${digit.repeat(64)}"`;
    const toml = `name = "Lagoon"
chain_id = 11155420
block_time = 2
seq_window_size = 3600
max_sequencer_drift = 600
data_availability_type = "eth-da"
batch_inbox_addr = "0x${"1".repeat(40)}"
optimism = { eip1559_elasticity = 6, eip1559_denominator = 50, eip1559_denominator_canyon = 250 }
addresses = { OptimismPortalProxy = "0x${"2".repeat(40)}", SystemConfigProxy = "0x${"3".repeat(40)}" }
[hardforks]
canyon_time = 0
delta_time = 0
lagoon_soon_time = 5
[genesis]
l2_time = 1691802540
l1 = { hash = ${word("4")}, number = 1 }
l2 = { hash = ${word("5")}, number = 0 }
system_config = { batcherAddress = "0x${"6".repeat(40)}", overhead = ${word("0")}, scalar = ${word("1")}, gasLimit = 30000000 }
`;
    const path = join(folderOf, "op.toml");
    writeFileSync(path, toml);
    const registry = join(folder, "registry");
    for (const args of [[`--network=${path}`], ["--network=op-sepolia", `--registry=${registry}`]]) {
      await expect(load(...args)).rejects.toThrow(
        /^--network: .*op\.toml .*hardforks\.lagoon_soon_time: expected a fork that this version knows/,
      );
    }
    writeFileSync(path, toml.replace("lagoon_soon_time = 5\n", ""));
    nowMs = Date.parse("2030-01-01");
    for (const args of [
      [`--network=${path}`],
      ["--network=op-sepolia", `--registry=${registry}`],
      [`--network=${registry}/op-sepolia`],
    ]) {
      logs.length = 0;
      expect((await load(...args)).rollup).toMatchObject({
        l2ChainId: 11_155_420n,
        forkTimes: { regolith: 0, canyon: 0, delta: 0 },
      });
      expect(logs).toMatchObject([{ level: "info", text: "the network's configuration is read from a registry" }]);
    }
    await expect(load("--network=zora-sepolia", `--registry=${registry}`)).rejects.toThrow(
      /has no network zora-sepolia; it has op-sepolia/,
    );
  });
});

describe("where the data is", () => {
  const l1: RollupConfig = testConfig();
  const altDa = { daChallengeContractAddress: undefined, daChallengeWindow: 1, daResolveWindow: 1 };
  const keccak: RollupConfig = { ...l1, altDa: { ...altDa, daCommitmentType: "KeccakCommitment" } };
  const generic: RollupConfig = { ...l1, altDa: { ...altDa, daCommitmentType: "GenericCommitment" } };
  const server = ["--altda.enabled", "--altda.da-server=http://127.0.0.1:1"];
  const light = "--l2.follow.source=http://127.0.0.1:2";
  it.each<[string, RollupConfig, string[], string | undefined]>([
    ["L1", l1, [], undefined],
    ["L1, with options of a server", l1, server, "so all of its data is on L1"],
    ["a server", keccak, server, undefined],
    ["a server that is not named", keccak, [], "--altda.enabled is required"],
    ["a server that a light node does not read", keccak, [light], undefined],
    ["a server with other commitments", generic, server, "which need true"],
  ])("is %s", (_, rollup, args, words) => {
    const parsed = parseOptions(
      rnodeOptions,
      ["--l2=http://127.0.0.1:3", "--l1=http://127.0.0.1:4", "--network=op-mainnet", ...args],
      {},
    );
    if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
    const check = (): void => assertAltDa(parsed.options, rollup);
    if (words === undefined) check();
    else expect(check).toThrow(words);
  });
});
