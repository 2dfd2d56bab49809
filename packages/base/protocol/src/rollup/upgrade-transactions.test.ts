import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { asciiToBytes, bytesToHex, isCodedError, keccak256, sha256 } from "@rnode/primitives";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  loadUpgradeArtifact,
  UPGRADE_ARTIFACTS,
  type UpgradeArtifact,
  type UpgradeArtifactSource,
  upgradeArtifactsFromFiles,
} from "../params/upgrade-artifacts.ts";
import {
  ECOTONE_UPGRADE,
  FJORD_UPGRADE,
  ISTHMUS_UPGRADE,
  JOVIAN_UPGRADE,
  KARST_UPGRADE,
  LAGOON_UPGRADE,
  PRELIMINARY_LAGOON_UPGRADE,
  type UpgradeStep,
} from "../params/upgrade-steps.ts";
import { missingUpgradeFiles } from "../testing/upgrade-files.ts";
import { upgradeSourceHash } from "../transactions/deposits.ts";
import { encodeTransaction } from "../transactions/transaction-codec.ts";
import {
  bundleTransactions,
  passingUpgradeGasAt,
  upgradeFilesAfter,
  upgradeGasAt,
  upgradesOfBlock,
  upgradeTransactions,
} from "./upgrade-transactions.ts";

const STEPS = { ecotone: ECOTONE_UPGRADE, fjord: FJORD_UPGRADE, isthmus: ISTHMUS_UPGRADE, jovian: JOVIAN_UPGRADE };

// docs/protocol/06-testing.md#upgrade-transaction-vectors: encoded length and hash
const VECTORS = {
  ecotone: [
    [1443, "0x50549bed9a83ba7238893970780b458ed3d543f299d6f69f7a5d0b32d7cd71a7"],
    [4122, "0xf8e8dd83c100c9eb137fa372cdda2cf854f79b6e8cfc604c5e54d970c05cb6dc"],
    [121, "0x9f2b2d34dfa2cb55cceb9860cade0cb03cfbd7ff1dd07d48b4708b29a46b4a24"],
    [121, "0xedbfdad1f44ea830b863eac45eca4408398351b30511826012882059625963d2"],
    [90, "0x91f762393442ac507c6852211b62445d82c9b58bae34726ecef2f10b4156f027"],
    [173, "0x5b7915f2a55ce67519e6d8f65248918f4e62f545706af2bf02549bb9782c03f3"],
  ],
  fjord: [
    [6235, "0xaafd55b14e021a2c04628606e42dbe58cc9c86b6ed695a8b9ccf258e28963e5e"],
    [121, "0x2f63bbe08a66796dde569281a58a53e0b0f64b7aa067297e9c70455fb8e375bc"],
    [90, "0x7cedc4f1c428928cdfb9b340bda3060102c71ad23f982678471b222ba8a756e1"],
  ],
  isthmus: [
    [1811, "0x4557f1142fedd52d571b070a290aa8683a03f7aac7929967858af7aab48cd4cc"],
    [7329, "0x9412bd3fa72eb1dbec94fd2297d44a8b86cb1f55966324e6cc7d57decc92c1f6"],
    [2267, "0xa9e6286eadd53ecf7bb2bff668c4fcb62305a8b3e4b584c30f7d4f90046ee75e"],
    [121, "0xe992e00998b34075506d2726a274db07a62af6cdd9d527bfda9128114603cfbd"],
    [121, "0xb6560306ccb0e772b132a8a6dd78244c0d7ac270c80baba40f95006184926c30"],
    [121, "0xf162acc8ebbaf9237755736b62331a4817fe27bbbe3712f473ecfa8fee499f7c"],
    [90, "0xbf2fef09f73279373fce8acd2968ca4fd1d10ba88bf10993b6a69c33d913f01b"],
    [159, "0xf3ddde30514a8d00b0b92f14b9ce6b3170ea30f5f45b1afdc0905801134ffefe"],
  ],
  jovian: [
    [1914, "0x0bad46dcef609affe3d306a9ce6239a1f3ec59673943a4c533eb20459950f542"],
    [121, "0xcd60191626fa3124e7031235c52f0adf6be545ebbd7cf55641bd9dabcbedaf6a"],
    [7949, "0x675febfc848d9b30f27dce1aabb6572d1de80c9eaa75773ac2106eeea7ff3aff"],
    [121, "0xc7c01d75d0b6950fcd30b448cba848e9841ab9ebb6b46eed9ecde4ba05ad0fd9"],
    [90, "0x159d785e90a42f3b9a4d3b9fd4ab69e7c0edec3122cb2e767f3a66aba8f3e664"],
  ],
} as const;
type Fork = keyof typeof VECTORS;

// docs/protocol/02-derivation.md#network-upgrade-transactions: the source hash of each transaction
const SOURCE_HASHES = {
  ecotone: [
    "0x877a6077205782ea15a6dc8699fa5ebcec5e0f4389f09cb8eda09488231346f8",
    "0xa312b4510adf943510f05fcc8f15f86995a5066bd83ce11384688ae20e6ecf42",
    "0x18acb38c5ff1c238a7460ebc1b421fa49ec4874bdf1e0a530d234104e5e67dbc",
    "0xee4f9385eceef498af0be7ec5862229f426dec41c8d42397c7257a5117d9230a",
    "0x0c1cb38e99dbc9cbfab3bb80863380b0905290b37eb3d6ab18dc01c1f3e75f93",
    "0x69b763c48478b9dc2f65ada09b3d92133ec592ea715ec65ad6e7f3dc519dc00c",
  ],
  fjord: [
    "0x86122c533fdcb89b16d8713174625e44578a89751d96c098ec19ab40a51a8ea3",
    "0x1e6bb0c28bfab3dc9b36ffb0f721f00d6937f33577606325692db0965a7d58c6",
    "0xbac7bb0d5961cad209a345408b0280a0d4686b1b20665e1b0f9cdafd73b19b6b",
  ],
  isthmus: [
    "0x3b2d0821ca2411ad5cd3595804d1213d15737188ae4cbd58aa19c821a6c211bf",
    "0xfc70b48424763fa3fab9844253b4f8d508f91eb1f7cb11a247c9baec0afb8035",
    "0x107a570d3db75e6110817eb024f09f3172657e920634111ce9875d08a16daa96",
    "0xebe8b5cb10ca47e0d8bda8f5355f2d66711a54ddeb0ef1d30e29418c9bf17a0e",
    "0xecf2d9161d26c54eda6b7bfdd9142719b1e1199a6e5641468d1bf705bc531ab0",
    "0xad74e1adb877ccbe176b8fa1cc559388a16e090ddbe8b512f5b37d07d887a927",
    "0x3ddf4b1302548dd92939826e970f260ba36167f4c25f18390a5e8b194b295319",
    "0xbfb734dae514c5974ddf803e54c1bc43d5cdb4a48ae27e1d9b875a5a150b553a",
  ],
  jovian: [
    "0xbb1a656f65401240fac3db12e7a79ebb954b11e62f7626eb11691539b798d3bf",
    "0xf3275f829340521028f9ad5bce4ecb1c64a45d448794effa2a77674627338e76",
    "0x239b7021a6c2cf3a918481242bbb5a9499057f24501539467536c691bb133962",
    "0xa70c60aa53b8c1c0d52b39b1e901e7d7c09f7819595cb24048a6bb1983b401ff",
    "0xe836db6a959371756f8941be3e962d000f7e12a32e49e2c9ca42ba177a92716c",
  ],
} as const;

/** The folder of published artifacts, if RNODE_ROLLUP_UPGRADES_DIR is set, as for the node. */
const folder = process.env.RNODE_ROLLUP_UPGRADES_DIR;
const published =
  folder !== undefined && existsSync(folder)
    ? upgradeArtifactsFromFiles(readdirSync(folder).map((name) => ({ name, content: readFileSync(join(folder, name)) })))
    : undefined;

describe.each(Object.keys(VECTORS) as Fork[])("%s", (fork) => {
  const steps = STEPS[fork];

  it("has the source hashes of the specification", () => {
    expect(steps.map(({ intent }) => bytesToHex(upgradeSourceHash(intent)))).toEqual(SOURCE_HASHES[fork]);
  });

  /** Code of the pinned length replaces missing published code; only the hash is not checked then. */
  const encode = ({ intent, from, to, gas, data }: UpgradeStep) => {
    const code = data instanceof Uint8Array ? data : (builtIn(data) ?? new Uint8Array(data.length!).fill(0xff));
    const sourceHash = upgradeSourceHash(intent);
    return encodeTransaction({
      type: 0x7e,
      sourceHash,
      from,
      to,
      mint: 0n,
      value: 0n,
      gasLimit: gas,
      isSystemTx: false,
      data: code,
    });
  };

  it("has transactions of the published lengths, and the hashes where no published code is needed", () => {
    let hashes = 0;
    for (const [index, step] of steps.entries()) {
      const encoded = encode(step);
      const [length, hash] = VECTORS[fork][index]!;
      expect(encoded.length).toBe(length);
      if (!(step.data instanceof Uint8Array) && builtIn(step.data) === undefined) continue;
      expect(bytesToHex(keccak256(encoded))).toBe(hash);
      hashes++;
    }
    expect(hashes).toBe({ ecotone: 4, fjord: 2, isthmus: 5, jovian: 3 }[fork]);
  });

  const missing = missingUpgradeFiles([fork], published);
  it.skipIf(missing.length > 0)(
    missing.length > 0
      ? `hashes of deployments: not run, RNODE_ROLLUP_UPGRADES_DIR lacks ${missing.join(", ")}`
      : "has the published hashes",
    () => {
      const encoded = upgradeTransactions(fork, { source: published }).map(encodeTransaction);
      expect(encoded.map((bytes) => [bytes.length, bytesToHex(keccak256(bytes))])).toEqual(VECTORS[fork]);
    },
  );
});

function builtIn(artifact: UpgradeArtifact): Uint8Array | undefined {
  try {
    return loadUpgradeArtifact(artifact, undefined);
  } catch (error) {
    if (isCodedError(error, "upgrade/missing-artifact")) return undefined;
    throw error;
  }
}

describe("artifacts", () => {
  it("are missing with the name of the file, its hash and where it is published", () => {
    expect(() => upgradeTransactions("fjord")).toThrow(
      expect.objectContaining({
        code: "upgrade/missing-artifact",
        message: expect.stringMatching(
          /^fjord-gas-price-oracle-deployment\.txt is not in .* published at github\.com\/ethereum-optimism\/specs.*keccak256 0xb16f1e370e58c7693fd113a21a1b1e7ccebc03d4f1e5a76786fc27847ef51ead/,
        ),
      }),
    );
  });

  it("must have the pinned hash", () => {
    const wrong: UpgradeArtifactSource = (_, { length }) => new Uint8Array(length ?? 0);
    expect(() => upgradeTransactions("fjord", { source: wrong })).toThrow(
      expect.objectContaining({ code: "upgrade/wrong-artifact" }),
    );
    for (const fork of ["karst", "lagoon"] as const) {
      expect(() => upgradeTransactions(fork, { source: wrong })).toThrow(
        expect.objectContaining({ code: "upgrade/wrong-artifact" }),
      );
    }
  });

  it("that EIPs print are built in", () => {
    for (const artifact of [UPGRADE_ARTIFACTS.beaconRoots, UPGRADE_ARTIFACTS.historyStorage]) {
      expect(loadUpgradeArtifact(artifact, undefined).length).toBe(artifact.length);
    }
  });

  it("are found in files by hash, whatever the file's name", () => {
    const code = loadUpgradeArtifact(UPGRADE_ARTIFACTS.beaconRoots, undefined);
    const text = asciiToBytes(` ${bytesToHex(code).toUpperCase().replace("0X", "0x")}\n`);
    const source = upgradeArtifactsFromFiles([
      { name: "any.hex", content: text },
      { name: "README.md", content: asciiToBytes("not hex") },
    ]);
    expect(source(UPGRADE_ARTIFACTS.beaconRoots.hash, UPGRADE_ARTIFACTS.beaconRoots)).toEqual(code);
    expect(source(UPGRADE_ARTIFACTS.jovianL1Block.hash, UPGRADE_ARTIFACTS.jovianL1Block)).toBeUndefined();
    expect(() => upgradeArtifactsFromFiles([{ name: "bad.hex", content: asciiToBytes("xyz1") }])).toThrow(
      expect.objectContaining({ code: "bytes/not-hex" }),
    );
  });
});

describe("upgrades of a block", () => {
  const config = { forkTimes: { ecotone: 100, fjord: 200, holocene: 300 }, blockTimeSec: 2 };
  it("are added in the activation block only", () => {
    expect(upgradesOfBlock(config, 98)).toEqual({ transactions: [], extraGas: 0n });
    expect(upgradesOfBlock(config, 102)).toEqual({ transactions: [], extraGas: 0n });
    expect(() => upgradesOfBlock(config, 200)).toThrow(expect.objectContaining({ code: "upgrade/missing-artifact" }));
    expect(() => upgradesOfBlock(config, 201)).toThrow(expect.objectContaining({ code: "upgrade/missing-artifact" })); // active now, but not 2 s earlier
    expect(upgradesOfBlock(config, 300)).toEqual({ transactions: [], extraGas: 0n });
  });
  it("are none when the fork is active at genesis", () => {
    expect(upgradesOfBlock({ forkTimes: { ecotone: 0, fjord: 0 }, blockTimeSec: 2 }, 1002).transactions).toEqual([]);
  });
  it("add gas from Karst on, which a configuration can keep only of Karst", () => {
    const schedule = { forkTimes: { jovian: 500, karst: 600, lagoon: 701 }, blockTimeSec: 2 };
    for (const [time, gas] of [
      [500, 0n],
      [600, 55_370_657n],
      [602, 0n],
      [700, 0n],
      [702, 64_977_394n],
      [704, 0n],
    ] as const) {
      expect(upgradeGasAt(schedule, time)).toBe(gas);
      expect(passingUpgradeGasAt(schedule, time)).toBe(gas);
      expect(passingUpgradeGasAt({ ...schedule, keepKarstUpgradeGas: true }, time)).toBe(time === 600 ? 0n : gas);
    }
  });
});

// The published files are pinned by their hashes; the ones here only have their form.
const row = (over: object) => ({
  intent: "Deploy X Implementation",
  from: "0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001",
  to: "0x420000000000000000000000000000000000002C",
  gasLimit: 1_000_000,
  data: "0xcdcb760a",
  ...over,
});
const json = (transactions: object[], version = "1.0.0") =>
  asciiToBytes(JSON.stringify({ metadata: { version }, transactions }, undefined, 2));

describe("Karst's bundle", () => {
  const rows = [
    row({ intent: "ConditionalDeployer Deployment", to: null }),
    ...Array.from({ length: 29 }, () => row({})),
    row({ gasLimit: 55_370_657 - 30_000_000 }),
  ];

  it("becomes deposits whose source says their place", () => {
    const transactions = bundleTransactions(KARST_UPGRADE, json(rows));
    expect(transactions.length).toBe(31);
    expect(transactions[0]).toMatchObject({ to: undefined, gasLimit: 1_000_000n, mint: 0n, isSystemTx: false });
    expect(bytesToHex(transactions[0]!.sourceHash)).toBe("0x7e71ceb6816466ed1bbe59fce31bab86fbb815adbca6d2587fa492f6eb6eba74");
    expect(transactions[5]!.sourceHash).toEqual(upgradeSourceHash("Karst 5: Deploy X Implementation"));
    expect(bytesToHex(transactions[5]!.from)).toBe("0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001");
    expect(bytesToHex(transactions[5]!.to!)).toBe("0x420000000000000000000000000000000000002c");
    expect(transactions.reduce((sum, { gasLimit }) => sum + gasLimit, 0n)).toBe(KARST_UPGRADE.gas);
  });

  it.each<[string, Uint8Array]>([
    ["a transaction too few", json(rows.slice(1))],
    ["more gas", json([...rows.slice(1), row({ gasLimit: 1 })])],
    ["another version", json(rows, "2.0.0")],
    ["no transactions", asciiToBytes("{}")],
  ])("is refused with %s", (_, bytes) => {
    expect(() => bundleTransactions(KARST_UPGRADE, bytes)).toThrow(expect.objectContaining({ code: "upgrade/bad-bundle" }));
  });
});

// docs/protocol/02-derivation.md#network-upgrade-transactions
describe("Lagoon's first block", () => {
  const config = { forkTimes: { jovian: 0, karst: 0, lagoon: 400 }, blockTimeSec: 2 };
  const hashes = (transactions: readonly { readonly sourceHash: Uint8Array }[]) =>
    transactions.map(({ sourceHash }) => bytesToHex(sourceHash));
  const SET_FEATURE = "0x22ad3660686317c7508cfb0daa4c8d86db29d958d6febe76d8eb2d8a16a3615a";
  const FUND = "0x6643cb07e2629dba4d88b8376cbc8597e04ed75b5d2cd27ff4a899913b36a3de";
  const INDEX_0 = "0xd0c91a4c576f08641ab3b302c233d09f97f543800f2f32e8d40e92ee57d989ce";
  const LAST = "0x95a57d1e0ec9ee6f0ddc041cad839d7f3ccb29ac8e9db96724c922592cc51846";

  /** The intents of the first and last entry, and all gas limits together, are those of the published file. */
  const rows = [
    row({ intent: "Deploy StorageSetter Implementation", gasLimit: 498_000 }),
    ...Array.from({ length: 27 }, () => row({})),
    row({
      intent: "L2ProxyAdmin Upgrade Predeploys",
      to: "0x4200000000000000000000000000000000000018",
      gasLimit: 64_827_394 - 498_000 - 27_000_000,
    }),
  ];
  const content = json(rows);
  const pinned = LAGOON_UPGRADE.artifact as { hash: typeof LAGOON_UPGRADE.artifact.hash };
  const { hash } = pinned;
  beforeEach(() => {
    pinned.hash = bytesToHex(sha256(content));
  });
  afterEach(() => {
    pinned.hash = hash;
  });
  const source: UpgradeArtifactSource = () => content;

  it("has the bundle alone in a set of one", () => {
    for (const input of [{ source }, { source, isInCluster: false }]) {
      const { transactions, extraGas } = upgradesOfBlock(config, 400, input);
      expect(transactions).toHaveLength(29);
      expect([hashes(transactions)[0], hashes(transactions)[28]]).toEqual([INDEX_0, LAST]);
      expect(extraGas).toBe(64_977_394n);
    }
  });

  it("has it between two more in a set of two", () => {
    const { transactions, extraGas } = upgradesOfBlock(config, 400, { source, isInCluster: true });
    expect(transactions).toHaveLength(31);
    expect([0, 1, 29, 30].map((index) => hashes(transactions)[index])).toEqual([SET_FEATURE, INDEX_0, LAST, FUND]);
    expect(extraGas).toBe(64_977_394n);
    expect(transactions.reduce((sum, { gasLimit }) => sum + gasLimit, 0n)).toBe(extraGas);
    expect(transactions.slice(1, 30)).toEqual(upgradesOfBlock(config, 400, { source }).transactions);
    expect(transactions.filter(({ isSystemTx, to }) => isSystemTx || to === undefined)).toEqual([]);
    const asText = ({ from, to, gasLimit, mint, value, data }: (typeof transactions)[number]) => ({
      from: bytesToHex(from),
      to: bytesToHex(to!),
      gasLimit,
      mint,
      value,
      data: bytesToHex(data),
    });
    const from = "0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001";
    expect(asText(transactions[0]!)).toEqual({
      from,
      to: "0x4200000000000000000000000000000000000015",
      gasLimit: 100_000n,
      mint: 0n,
      value: 0n,
      data: `0x46a4d780${Buffer.from("INTEROP").toString("hex").padEnd(64, "0")}`,
    });
    expect(asText(transactions[30]!)).toEqual({
      from,
      to: "0x4200000000000000000000000000000000000025",
      gasLimit: 50_000n,
      mint: 2n ** 128n - 1n,
      value: 2n ** 128n - 1n,
      data: "0xb60d4288",
    });
  });

  it("has the contracts of before it was scheduled on a chain whose configuration says so", () => {
    const preliminary = { ...config, lagoonPreliminary: true };
    expect([399, 400, 402].map((time) => upgradeGasAt(preliminary, time))).toEqual([0n, 60_653_172n, 0n]);
    expect([399, 400, 402].map((time) => upgradeGasAt(config, time))).toEqual([0n, 64_977_394n, 0n]);
    expect(upgradeFilesAfter(preliminary, 399)).toEqual([UPGRADE_ARTIFACTS.preliminaryLagoonBundle]);
    expect(upgradeFilesAfter(config, 399)).toEqual([UPGRADE_ARTIFACTS.lagoonBundle]);
    expect(() => upgradesOfBlock(preliminary, 400, { source })).toThrow(
      expect.objectContaining({ code: "upgrade/wrong-artifact" }),
    );
  });

  it("is the only one with them, and needs the file", () => {
    for (const time of [398, 402]) {
      expect(upgradesOfBlock(config, time, { source, isInCluster: true })).toEqual({ transactions: [], extraGas: 0n });
    }
    const atGenesis = { forkTimes: { jovian: 0, karst: 0, lagoon: 0 }, blockTimeSec: 2 };
    expect(upgradesOfBlock(atGenesis, 400, { source, isInCluster: true }).transactions).toEqual([]);
    for (const isInCluster of [true, false]) {
      expect(() => upgradesOfBlock(config, 400, { isInCluster })).toThrow(
        expect.objectContaining({
          code: "upgrade/missing-artifact",
          message: expect.stringMatching(
            /^lagoon_nut_bundle\.json is not in the folder of --rollup\.upgrades-dir .*op-core\/nuts\/bundles/,
          ),
        }),
      );
    }
  });
});

describe("the published bundles", () => {
  const { hash, ...preliminary } = UPGRADE_ARTIFACTS.preliminaryLagoonBundle;
  const isPreliminary = published?.(hash, { hash, ...preliminary }) !== undefined;
  const missing = missingUpgradeFiles(["karst", "lagoon"], published, isPreliminary);

  it.skipIf(missing.length > 0)(
    missing.length > 0 ? `not run: RNODE_ROLLUP_UPGRADES_DIR lacks ${missing.join(", ")}` : "have the pinned counts and gas",
    () => {
      for (const [fork, { gas, transactions }] of [
        ["karst", KARST_UPGRADE],
        ["lagoon", isPreliminary ? PRELIMINARY_LAGOON_UPGRADE : LAGOON_UPGRADE],
      ] as const) {
        const found = upgradeTransactions(fork, { source: published, isPreliminary });
        expect([found.length, found.reduce((sum, { gasLimit }) => sum + gasLimit, 0n)]).toEqual([transactions, gas]);
      }
      const lagoon = upgradeTransactions("lagoon", { source: published, isInCluster: true, isPreliminary });
      const last = isPreliminary
        ? "0xffc24d0690a7ef8b6be44cf7dd240f6380dd697d88d45d3ce4f038d5be65fab2"
        : "0x95a57d1e0ec9ee6f0ddc041cad839d7f3ccb29ac8e9db96724c922592cc51846";
      expect(bytesToHex(lagoon[1]!.sourceHash)).toBe("0xd0c91a4c576f08641ab3b302c233d09f97f543800f2f32e8d40e92ee57d989ce");
      expect(bytesToHex(lagoon.at(-2)!.sourceHash)).toBe(last);
    },
  );
});
