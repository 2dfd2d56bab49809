import { bytesToHex, codedErrors, type Hex, hexToBytes, keccak256, sha256 } from "@rnode/primitives";

/**
 * Bytes that a network upgrade deploys and that the specification pins by hash. They are not part of this repository (except two
 * short ones that EIPs print): the node downloads them, or operators put them into a folder as files.
 *
 * File format: bytecode files (`.txt`, `.hex`) have the creation code as hex digits, with or without `0x`, white space ignored;
 * bundles (`.json`) are the published JSON files, byte for byte. `file` is the published file name.
 */
export interface UpgradeArtifact {
  /** file name in the upgrades folder, e.g. `ecotone-l1-block-deployment.txt` */
  readonly file: string;
  readonly hashFunction: "keccak256" | "sha256";
  readonly hash: Hex;
  /** length in bytes, if the specification states it */
  readonly length?: number | undefined;
  /** the only tag of its repository whose file it is: others have other revisions */
  readonly release?: string | undefined;
}

/** Returns the bytes of an artifact by its hash; `undefined` if not available. */
export type UpgradeArtifactSource = (hash: Hex, artifact: UpgradeArtifact) => Uint8Array | undefined;

export type UpgradeErrorCode = "upgrade/missing-artifact" | "upgrade/wrong-artifact" | "upgrade/bad-bundle";

export class UpgradeError extends codedErrors<UpgradeErrorCode, UpgradeErrorCode>(
  {},
  {
    "upgrade/missing-artifact":
      "{file} is not in the folder of --rollup.upgrades-dir (by default, upgrades in the data folder); it is published at {publishedAt}",
    "upgrade/wrong-artifact": "{file} is not the published file: its hash is {got}, expected {expected}",
    "upgrade/bad-bundle": "the bundle of {fork} is not the published one",
  },
) {}

const bytecode = (file: string, length: number, hash: Hex): UpgradeArtifact => ({ file, hashFunction: "keccak256", hash, length });

/** Spec: docs/protocol/02-derivation.md#network-upgrade-transactions */
export const UPGRADE_ARTIFACTS = {
  ecotoneL1Block: bytecode(
    "ecotone-l1-block-deployment.txt",
    1374,
    "0xda6828a2a6e02d9fde7d5d9947f51b207f31abf5dbb538dd968cd491164e2115",
  ),
  ecotoneGasPriceOracle: bytecode(
    "ecotone-gas-price-oracle-deployment.txt",
    4053,
    "0xfd456e91d8c9714590a4f0a2c1046ba70e102f1c629ead886c4eebc3f921c3c3",
  ),
  beaconRoots: bytecode("eip-4788-deployment.txt", 106, "0x468e991a328ab315e08296896adc222230a4960692e90cb6e096006ba6ae75d5"),
  fjordGasPriceOracle: bytecode(
    "fjord-gas-price-oracle-deployment.txt",
    6166,
    "0xb16f1e370e58c7693fd113a21a1b1e7ccebc03d4f1e5a76786fc27847ef51ead",
  ),
  isthmusL1Block: bytecode(
    "isthmus-l1-block-deployment.txt",
    1742,
    "0xa1f984b8ea199574261c19122b5a9c8c7dbd3633980b1e7aaf6b7af24af60478",
  ),
  isthmusGasPriceOracle: bytecode(
    "isthmus-gas-price-oracle-deployment.txt",
    7260,
    "0x38ef70b2783dd45ad807afcf57972c7df4abaaeb5d16d17cdb451b9e931a9cbb",
  ),
  isthmusOperatorFeeVault: bytecode(
    "isthmus-operator-fee-deployment.txt",
    2198,
    "0x3d8c0d7736e8767f2f797da1c20c5fe30bd7f48a4cf75f376290481ad7c0f91f",
  ),
  historyStorage: bytecode("eip-2935-deployment.txt", 92, "0xd9a100b412a9e846fc9893402b583bb45f5d812b7a5c4fef9b49bc602b15520b"),
  jovianL1Block: bytecode(
    "jovian-l1-block-deployment.txt",
    1845,
    "0x1f054ff228ecad7f51772dd25084469192f7a33c522b87cd46ec5558d3c46aec",
  ),
  jovianGasPriceOracle: bytecode(
    "jovian-gas-price-oracle-deployment.txt",
    7880,
    "0xf72c23d9c3775afd7b645fde429d09800622d329116feb5ff9829634655123ca",
  ),
  karstBundle: {
    file: "karst_nut_bundle.json",
    hashFunction: "sha256",
    hash: "0x08f5df36f7ff29a9421ab84beebe96684a7455df9a5d234a2468613a4008ad91",
  },
  lagoonBundle: {
    file: "lagoon_nut_bundle.json",
    hashFunction: "sha256",
    hash: "0xa4a9dac53431d07e4f24a803f23f0216e10396269a17d1df7ecd64393dc76b5e",
    release: "op-node/v1.21.0",
  },
  /** of optimism v1.19.6: \`lagoonPreliminary\` of a rollup configuration */
  preliminaryLagoonBundle: {
    file: "lagoon_nut_bundle.json",
    hashFunction: "sha256",
    hash: "0x2124ce31c0947cac15f00114214dd4354848f7b4642ff2d12ebb3f94b28cc989",
    release: "v1.19.6",
  },
} as const satisfies Record<string, UpgradeArtifact>;

/** Creation codes that EIP-4788 and EIP-2935 print. */
const BUILT_IN: ReadonlyMap<Hex, Uint8Array> = new Map([
  [
    UPGRADE_ARTIFACTS.beaconRoots.hash,
    hexToBytes(
      "60618060095f395ff33373fffffffffffffffffffffffffffffffffffffffe14604d57602036146024575f5ffd5b5f35801560495762001fff8106908154" +
        "14603c575f5ffd5b62001fff01545f5260205ff35b5f5ffd5b62001fff42064281555f359062001fff015500",
    ),
  ],
  [
    UPGRADE_ARTIFACTS.historyStorage.hash,
    hexToBytes(
      "60538060095f395ff33373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f35600143038111604257611fff814303116042" +
        "57611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500",
    ),
  ],
]);

/** Whether the artifact must be provided as a file. */
export const isFile = ({ hash }: UpgradeArtifact): boolean => !BUILT_IN.has(hash);

/**
 * The bytes of an artifact, checked against its pinned length and hash.
 *
 * @throws {CodedError} upgrade/missing-artifact (names the file and the hash), upgrade/wrong-artifact
 */
export function loadUpgradeArtifact(artifact: UpgradeArtifact, source: UpgradeArtifactSource | undefined): Uint8Array {
  const { file, hash, hashFunction, length } = artifact;
  const bytes = BUILT_IN.get(hash) ?? source?.(hash, artifact);
  if (bytes === undefined) {
    throw new UpgradeError("upgrade/missing-artifact", { file, [hashFunction]: hash, publishedAt: PUBLISHED_AT });
  }
  const got = bytesToHex(hashFunction === "keccak256" ? keccak256(bytes) : sha256(bytes));
  if (got !== hash || (length !== undefined && bytes.length !== length)) {
    throw new UpgradeError("upgrade/wrong-artifact", { file, expected: hash, got, length: bytes.length });
  }
  return bytes;
}

const PUBLISHED_AT =
  "github.com/ethereum-optimism/specs specs/static/bytecode, github.com/ethereum-optimism/optimism op-core/nuts/bundles";

/**
 * A source of files with any names: artifacts are found by the hash of their content.
 *
 * @throws {CodedError} bytes/not-hex, bytes/odd-hex for a `.txt` or `.hex` file that is not hex
 */
export function upgradeArtifactsFromFiles(files: Iterable<{ name: string; content: Uint8Array }>): UpgradeArtifactSource {
  const byHash = new Map<Hex, Uint8Array>();
  for (const { name, content } of files) {
    if (/\.(?:hex|txt)$/.test(name)) {
      const code = hexToBytes(asciiText(content).replace(/\s+/g, ""));
      byHash.set(bytesToHex(keccak256(code)), code);
    } else if (name.endsWith(".json")) {
      byHash.set(bytesToHex(sha256(content)), content);
    }
  }
  return (hash) => byHash.get(hash);
}

/** PERF: in slices, because the stack limits the number of arguments. */
export function asciiText(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return text;
}
