import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NETWORKS, networkByName, rollupConfigOf, whyNoClientFollows } from "@rnode/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import type { RegistrySource } from "./api.ts";
import { compareNetworks } from "./compare-networks.ts";
import { findNetwork } from "./find-network.ts";
import { chainPaths, readNetwork, readRegistry } from "./registry-config.ts";
import { registryFolder } from "./registry-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "registry-"));
const word = (digit: string): string => `0x${digit.repeat(64)}`;
const address = (digit: string): string => `0x${digit.repeat(40)}`;

/** A chain's file in upstream's form; `hardforks`: lines of that table. */
const chainToml = (hardforks: string, more = ""): string => `name = "Test Chain"
public_rpc = "https://example.org"
superchain_time = 0
data_availability_type = "eth-da"
chain_id = 4242
batch_inbox_addr = "${address("1")}"
block_time = 2
seq_window_size = 3600
max_sequencer_drift = 600
${more}
[hardforks]
${hardforks}
[optimism]
eip1559_elasticity = 6
eip1559_denominator = 50
eip1559_denominator_canyon = 250
[genesis]
l2_time = 1700000000
[genesis.l1]
hash = "${word("2")}"
number = 7
[genesis.l2]
hash = "${word("3")}"
number = 0
[genesis.system_config]
batcherAddress = "${address("4")}"
overhead = "${word("0")}"
scalar = "${word("1")}"
gasLimit = 30000000
[addresses]
OptimismPortalProxy = "${address("5")}"
SystemConfigProxy = "${address("6")}"
`;
const FORKS = ["canyon", "delta", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian", "karst"];
const allAt = (time: number | string): string => FORKS.map((fork) => `${fork}_time = ${time}`).join("\n");

let root: string;
let count = 0;
const write = (path: string, text: string): void => {
  const file = join(root, path);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text);
};
const writeChain = (path: string, text: string): void => write(`superchain/configs/${path}.toml`, text);
const source = (): RegistrySource => registryFolder(root);

beforeEach(() => {
  root = join(folder, String(++count));
  writeChain("mainnet/superchain", `name = "Mainnet"\n[l1]\nchain_id = 1\n`);
  writeChain("mainnet/op", chainToml(allAt(0)));
});

describe("a chain's file", () => {
  it("may have a key under its old name, which is told", async () => {
    writeChain("mainnet/op", chainToml(`${allAt(0)}\ninterop_time = 9`));
    expect(await readNetwork(source(), "mainnet/op")).toMatchObject({
      forkTimes: { lagoon: 9 },
      oldForkKeys: [{ key: "interop_time", use: "lagoon_time" }],
    });
  });

  it("is read as it is", async () => {
    writeChain(
      "mainnet/op",
      chainToml(
        `${allAt(1_600_000_000)} # 2020\nkeep_karst_upgrade_gas = true\npectra_blob_schedule_time = 5\n[interop.dependencies.4242]\n[interop.dependencies.10]`,
      ),
    );
    expect(await readNetwork(source(), "mainnet/op")).toMatchObject({
      path: "mainnet/op",
      name: "op-mainnet",
      title: "Test Chain",
      l1ChainId: 1,
      l2ChainId: 4242,
      forkTimes: Object.fromEntries(FORKS.map((fork) => [fork, 1_600_000_000])),
      keepKarstUpgradeGas: true,
      pectraBlobScheduleTime: 5,
      dependencies: [10, 4242],
    });
  });

  const karst = (time: string): string => `${allAt(1_600_000_000).replace(/karst_time = .*/, "")}\nkarst_time = ${time}`;
  it.each<[string, string, string]>([
    ["an unknown fork", `${allAt(0)}\ncel2_time = 5`, "hardforks.cel2_time: expected a fork that this version knows"],
    [
      "an unknown fork without time",
      `${allAt(0)}\nkeep_lagoon_upgrade_gas = true`,
      "hardforks.keep_lagoon_upgrade_gas: expected a fork",
    ],
    [
      "two times of one fork",
      `${allAt(0)}\nlagoon_time = 7\ninterop_time = 8`,
      "hardforks.interop_time: expected the time of lagoon_time (7), or no such key: it is the old name of lagoon_time, got 8",
    ],
    ["a time as text", karst('"1783526401"'), "hardforks.karst_time: expected an integer"],
    ["a negative time", karst("-1"), "hardforks.karst_time: expected an integer, 0 or more, got -1"],
    ["a time as a date", karst("2026-07-08T16:00:01Z"), "hardforks.karst_time: expected an integer"],
    ["a fractional time", karst("1.5"), "hardforks.karst_time: expected an integer"],
    [
      "a time beyond numbers",
      karst("9223372036854775807"),
      'hardforks.karst_time: expected an integer, 0 or more, got "9223372036854775807"',
    ],
    ["a time that is not a number", karst("nan"), "hardforks.karst_time: expected an integer"],
    ["a table as time", karst("{ a = 1 }"), "hardforks.karst_time: expected an integer"],
    ["a flag as text", `${allAt(0)}\nkeep_karst_upgrade_gas = "true"`, "hardforks.keep_karst_upgrade_gas: expected true or false"],
    ["forks out of order", karst("1599999999"), "karst_time: expected at least jovian_time (1600000000)"],
    ["a gap", allAt(0).replace("granite_time = 0", ""), "holocene_time: expected not set, because granite_time is not set"],
    [
      "two forks in one block",
      allAt(1_800_000_000),
      "jovian_time: expected later than isthmus_time (1800000000), because both are after genesis",
    ],
  ])("with %s is refused, naming file and key", async (_, hardforks, message) => {
    writeChain("mainnet/op", chainToml(hardforks));
    const file = join(root, "superchain/configs/mainnet/op.toml");
    await expect(readNetwork(source(), "mainnet/op")).rejects.toThrow(`${file} is not the configuration of a chain: ${message}`);
  });

  it.each<[string, (text: string) => string, RegExp]>([
    ["no TOML", () => "[hardforks\n", /op\.toml is not TOML: .* at line 1/],
    ["empty", () => "", /hardforks: expected an object, got \(missing\)/],
    ["without genesis", (text) => text.replace(/\[genesis\][\s\S]*\[addresses\]/, "[addresses]"), /genesis: expected an object/],
    ["a short hash", (text) => text.replace(word("2"), "0x22"), /genesis\.l1\.hash: expected 32 bytes/],
    ["equal hashes", (text) => text.replace(word("2"), word("3")), /genesis\.l2\.hash: expected another hash/],
    ["an id as text", (text) => text.replace("4242", '"4242"'), /chain_id: expected an integer/],
    ["an id of 0", (text) => text.replace("chain_id = 4242", "chain_id = 0"), /l2_chain_id: expected an integer above 0/],
    ["the id of its L1", (text) => text.replace("chain_id = 4242", "chain_id = 1"), /l2_chain_id: expected a chain id other/],
    ["a block time of 0", (text) => text.replace("block_time = 2", "block_time = 0"), /block_time: expected an integer above 0/],
    ["no portal", (text) => text.replace("OptimismPortalProxy", "Portal"), /addresses\.OptimismPortalProxy: expected 20 bytes/],
    [
      "a zero portal",
      (text) => text.replace(address("5"), address("0")),
      /deposit_contract_address: expected an address that is not zero/,
    ],
    [
      "unknown data availability",
      (text) => text.replace("eth-da", "moon-da"),
      /data_availability_type: expected one of eth-da, alt-da/,
    ],
    ["larger than 256 KiB", (text) => `${text}#${"x".repeat(256 * 1024)}`, /op\.toml is larger than 262144 bytes/],
    [
      "a foreign dependency set",
      (text) => `${text}\n[interop.dependencies.10]`,
      /interop\.dependencies: expected the chain itself, 4242/,
    ],
    ["a bad dependency", (text) => `${text}\n[interop.dependencies.x]`, /dependencies\.x: expected a chain id in decimal/],
    [
      "half an alt_da",
      (text) => `${text}\n[alt_da]\nda_commitment_type = "KeccakCommitment"`,
      /alt_da\.da_challenge_contract_address/,
    ],
  ])("that is %s is refused", async (_, change, message) => {
    writeChain("mainnet/op", change(chainToml(allAt(0))));
    await expect(readNetwork(source(), "mainnet/op")).rejects.toThrow(message);
  });

  it("may have alt_da, of both kinds", async () => {
    const altDa = (type: string): string =>
      `${chainToml(allAt(0))}[alt_da]\nda_challenge_contract_address = "${address("7")}"\nda_challenge_window = 16\nda_resolve_window = 17\nda_commitment_type = "${type}"\n`;
    writeChain("mainnet/op", altDa("KeccakCommitment"));
    expect(rollupConfigOf((await readNetwork(source(), "mainnet/op"))!).altDa).toMatchObject({
      daChallengeWindow: 16,
      daResolveWindow: 17,
    });
    writeChain("mainnet/op", altDa("GenericCommitment"));
    expect(rollupConfigOf((await readNetwork(source(), "mainnet/op"))!).altDa?.daChallengeContractAddress).toBeUndefined();
  });

  it("needs its superchain's file", async () => {
    writeChain("moon/op", chainToml(allAt(0)));
    await expect(readNetwork(source(), "moon/op")).rejects.toThrow(
      /moon\/superchain\.toml is missing: its l1\.chain_id says which L1/,
    );
    for (const l1 of ["", "[l1]", '[l1]\nchain_id = "1"', "[l1]\nchain_id = 0", "l1 = 1"]) {
      writeChain("moon/superchain", l1);
      await expect(readNetwork(source(), "moon/op")).rejects.toThrow(
        /moon\/superchain\.toml .*l1\.chain_id is not an integer above 0/,
      );
    }
  });
});

describe("a registry", () => {
  it("names bad files and has the others", async () => {
    writeChain("mainnet/bad", "chain_id = ");
    writeChain("moon/op", chainToml(allAt(0)));
    symlinkSync("loop.toml", join(root, "superchain/configs/mainnet/loop.toml"));
    symlinkSync("op.toml", join(root, "superchain/configs/mainnet/again.toml"));
    symlinkSync("/nowhere", join(root, "superchain/configs/mainnet/gone.toml"));
    mkdirSync(join(root, "superchain/configs/mainnet/folder.toml"));
    write("superchain/configs/README.md", "text");
    write("superchain/configs/mainnet/notes.txt", "text");
    const { networks, badFiles } = (await readRegistry(source()))!;
    expect(networks.map(({ path }) => path)).toEqual(["mainnet/again", "mainnet/op"]);
    expect(badFiles.map(({ file, reason }) => [file.slice(root.length + 1), reason.slice(0, 24)])).toMatchObject([
      ["superchain/configs/mainnet/bad.toml", expect.any(String)],
      ["superchain/configs/mainnet/folder.toml", expect.any(String)],
      ["superchain/configs/mainnet/gone.toml", "the file is missing"],
      ["superchain/configs/mainnet/loop.toml", expect.any(String)],
      ["superchain/configs/moon/op.toml", expect.any(String)],
    ]);
  });

  it("that cannot list has a chainList.json", async () => {
    const folderSource = source();
    const server: RegistrySource = {
      read: (path, maxBytes) => folderSource.read(path, maxBytes),
      describe: () => folderSource.describe(),
    };
    expect(await chainPaths(server)).toBeUndefined();
    expect(await readRegistry(server)).toBeUndefined();
    const entries = [
      { identifier: "mainnet/op" },
      { identifier: "../../etc/passwd" },
      { identifier: 5 },
      null,
      { identifier: "mainnet/none" },
    ];
    write("chainList.json", JSON.stringify(entries));
    expect(await chainPaths(server)).toEqual(["mainnet/none", "mainnet/op"]);
    const content = await readRegistry(server);
    expect(content?.networks.map(({ name }) => name)).toEqual(["op-mainnet"]);
    expect(content?.badFiles).toMatchObject([{ reason: "the file is missing" }]);
    for (const text of ["{", "{}", "null"]) {
      write("chainList.json", text);
      await expect(chainPaths(server)).rejects.toThrow(/chainList\.json is not the configuration/);
    }
  });

  it("is compared with the table", () => {
    const [first, second, third] = NETWORKS as [(typeof NETWORKS)[0], (typeof NETWORKS)[0], (typeof NETWORKS)[0]];
    const changed = {
      ...second,
      blockTimeSec: 9,
      forkTimes: { ...second.forkTimes, lagoon: 5 },
      keepKarstUpgradeGas: true as const,
    };
    const added = { ...third, path: "moon/x", name: "x-moon" };
    expect(compareNetworks([first, second, third], [changed, third, added])).toEqual(
      [
        { name: first.name, l2ChainId: first.l2ChainId, change: "removed", differences: [] },
        {
          name: second.name,
          l2ChainId: second.l2ChainId,
          change: "changed",
          differences: [
            { field: "blockTimeSec", here: "2", there: "9" },
            { field: "forkTimes.lagoon", here: undefined, there: "5" },
            { field: "keepKarstUpgradeGas", here: undefined, there: "true" },
          ],
        },
        { name: "x-moon", l2ChainId: third.l2ChainId, change: "added", differences: [] },
      ].sort((a, b) => (a.name < b.name ? -1 : 1)),
    );
    expect(compareNetworks(NETWORKS, NETWORKS)).toEqual([]);
  });
});

describe("the network that an option names", () => {
  const idOf = async (value: string, registry?: RegistrySource): Promise<number | undefined> =>
    (await findNetwork(value, registry))?.network.l2ChainId;

  it("is of the table, of a registry, or of a file", async () => {
    expect(await findNetwork("op-mainnet", undefined)).toEqual({ network: networkByName("op-mainnet"), from: undefined });
    expect(await findNetwork("op-mainnet", source())).toMatchObject({ network: { l2ChainId: 4242 }, from: root });
    expect(await idOf("mainnet/op", source())).toBe(4242);
    expect(await idOf("OP", source())).toBe(4242);
    expect(await idOf(join(root, "superchain/configs/mainnet/op.toml"))).toBe(4242);
    cpSync(join(root, "superchain/configs/mainnet"), join(root, "copy"), { recursive: true });
    expect(await findNetwork(join(root, "copy/op.toml"), undefined)).toMatchObject({ network: { name: "op-copy" } });
  });

  it("is of a folder with a single network, or with the name after it", async () => {
    expect(await idOf(root)).toBe(4242);
    expect(await idOf(join(root, "superchain/configs/mainnet"))).toBe(4242);
    expect(await idOf(join(root, "op-mainnet"))).toBe(4242);
    writeChain("mainnet/base", chainToml(allAt(0)).replace("4242", "8453"));
    await expect(idOf(root)).rejects.toThrow(
      /has several networks: name one of them, as in .*base-mainnet; it has base-mainnet, op-mainnet/,
    );
    await expect(idOf(join(root, "superchain/configs/mainnet"))).rejects.toThrow(
      /as in .*mainnet\/base\.toml; it has base\.toml, op\.toml/,
    );
    expect(await idOf(join(root, "op"))).toBe(4242);
    await expect(idOf(join(root, "zora"))).rejects.toThrow(/has no network zora; it has base-mainnet, op-mainnet/);
    expect(whyNoClientFollows(BigInt((await idOf(join(root, "base")))!))).toBeDefined();
  });

  it("is not there", async () => {
    await expect(idOf("zora-mainnet", source())).rejects.toThrow(/has no network zora-mainnet; it has op-mainnet$/);
    expect(await idOf("no-such")).toBeUndefined();
    const mirror: RegistrySource = { read: (path, maxBytes) => source().read(path, maxBytes), describe: () => "http://mirror" };
    expect(await idOf("op-sepolia", mirror)).toBe(11155420);
    await expect(idOf("no-such", mirror)).rejects.toThrow(
      /^http:\/\/mirror has neither chainList.json .* unknown network no-such; known are /,
    );
    await expect(idOf("base-mainnet", mirror)).rejects.toThrow(/Azul/);
    write("chainList.json", JSON.stringify([{ identifier: "mainnet/none" }]));
    await expect(idOf("none-mainnet", mirror)).rejects.toThrow(/^cannot read .*none\.toml: the registry lists it/);
    await expect(idOf(join(root, "none.toml"))).rejects.toThrow(/^cannot read .*none\.toml: no such file$/);
    expect(await idOf(folder)).toBeUndefined();
    write("genesis.json", "{}");
    expect(await idOf(join(root, "genesis.json"), source())).toBeUndefined();
  });

  it("is of the table where the registry has other files only", async () => {
    rmSync(join(root, "superchain"), { recursive: true });
    expect(await idOf("op-mainnet", source())).toBe(10);
  });
});
