import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { silentLogger } from "@rnode/observe";
import { bytesToHex, keccak256, sha256 } from "@rnode/primitives";
import { loadUpgradeArtifact, UPGRADE_ARTIFACTS, type UpgradeArtifact } from "@rnode/protocol";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { placesOf } from "./published-files.ts";
import { publishedUpgrade, UpgradeFiles } from "./upgrade-files.ts";

const BUNDLE = new TextEncoder().encode(JSON.stringify({ metadata: { version: "1.0.0" }, transactions: [] }));
const CODE = new Uint8Array(1000).fill(0x5b);
const bundle: UpgradeArtifact = { file: "x_nut_bundle.json", hashFunction: "sha256", hash: bytesToHex(sha256(BUNDLE)) };
const code: UpgradeArtifact = {
  file: "x-deployment.txt",
  hashFunction: "keccak256",
  hash: bytesToHex(keccak256(CODE)),
  length: 1000,
};
const RUNTIME = new Uint8Array(1000).fill(0x5c);
const deployer: UpgradeArtifact = { ...code, file: "canyon-create2deployer.txt", hash: bytesToHex(keccak256(RUNTIME)) };
const ALL = [bundle, code, deployer];

let folder: string;
let server: Server;
let files: Record<string, Uint8Array | undefined>;
let asked: string[];
let isDown: boolean;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "rnode-upgrades-"));
  asked = [];
  isDown = false;
  files = {
    "/op-core/nuts/bundles/x_nut_bundle.json": BUNDLE,
    "/specs/static/bytecode/x-deployment.txt": new TextEncoder().encode(`${bytesToHex(CODE)}\n`),
    [`/superchain/extra/bytecodes/${deployer.hash}.bin.gz`]: gzipSync(RUNTIME),
  };
  server = createServer(({ url = "" }, response) => {
    asked.push(url);
    if (isDown) return void response.destroy();
    const body = files[url];
    if (body === undefined) response.writeHead(404).end();
    else response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const mirror = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const at = (artifact: UpgradeArtifact): string => join(folder, "upgrades", artifact.file);
/** @param onSleep before another attempt */
function filesFrom(registry: string, { offline = false, onSleep = () => {} } = {}): UpgradeFiles {
  const sleep = async (_: number, signal?: { readonly aborted: boolean }): Promise<void> => {
    onSleep();
    await new Promise((resolve) => setTimeout(resolve, signal?.aborted === true ? 0 : 5));
  };
  const download = { idleMs: 5000, maxFailures: 1, firstWaitMs: 1 };
  const one = new UpgradeFiles({
    folder: join(folder, "upgrades"),
    registry,
    offline,
    log: silentLogger,
    clock: { sleep },
    download,
  });
  onTestFinished(() => one.close());
  return one;
}
const load = (from: UpgradeFiles, artifact: UpgradeArtifact): Uint8Array =>
  new Uint8Array(loadUpgradeArtifact(artifact, from.source));

describe("files of network upgrades", () => {
  it("are fetched once, in the form of each kind", async () => {
    const first = filesFrom(mirror());
    first.want(ALL);
    first.want(ALL);
    await first.settled();
    expect(asked.sort()).toEqual(Object.keys(files).sort());
    for (const artifact of ALL)
      expect(load(first, artifact)).toEqual(artifact === bundle ? BUNDLE : artifact === code ? CODE : RUNTIME);
    const second = filesFrom(mirror());
    second.want(ALL);
    for (const artifact of ALL) load(second, artifact);
    expect(asked.length).toBe(3);
  });

  it("come from a folder with the same paths, also offline", async () => {
    for (const [path, bytes] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, "mirror", path)), { recursive: true });
      writeFileSync(join(folder, "mirror", path), bytes!);
    }
    const one = filesFrom(join(folder, "mirror"), { offline: true });
    one.want(ALL);
    await one.settled();
    for (const artifact of ALL) load(one, artifact);
    expect(asked).toEqual([]);
  });

  it("that are asked for too early are named with hash and place, and are there later", async () => {
    const one = filesFrom(mirror());
    expect(() => load(one, bundle)).toThrow(
      new RegExp(
        `needs x_nut_bundle.json, which is not in .*upgrades yet \\(it is being fetched\\).*${bundle.hash}|op-core/nuts/bundles`,
      ),
    );
    await one.settled();
    expect(load(one, bundle)).toEqual(BUNDLE);
  });

  it.each<[string, () => void, () => void]>([
    [
      "missing",
      () => (files["/op-core/nuts/bundles/x_nut_bundle.json"] = undefined),
      () => (files["/op-core/nuts/bundles/x_nut_bundle.json"] = BUNDLE),
    ],
    [
      "damaged",
      () => (files["/op-core/nuts/bundles/x_nut_bundle.json"] = BUNDLE.map((byte, i) => (i === 9 ? byte ^ 1 : byte))),
      () => (files["/op-core/nuts/bundles/x_nut_bundle.json"] = BUNDLE),
    ],
    ["at a server that is down", () => (isDown = true), () => (isDown = false)],
    ["for a folder that cannot be made", () => writeFileSync(join(folder, "upgrades"), ""), () => rmSync(join(folder, "upgrades"))],
  ])("that are %s are asked for until they are right", async (_, damage, mend) => {
    damage();
    let attempts = 0;
    const one = filesFrom(mirror(), {
      onSleep: () => {
        expect(() => load(one, bundle)).toThrow(/x_nut_bundle\.json/);
        expect(existsSync(at(bundle))).toBe(false);
        if (++attempts === 2) mend();
      },
    });
    one.want([bundle]);
    await one.settled();
    expect([attempts, load(one, bundle)]).toEqual([2, BUNDLE]);
  });

  it("that are a decompression bomb are not unpacked beyond the bound, and are asked for again", async () => {
    const path = `/superchain/extra/bytecodes/${deployer.hash}.bin.gz`;
    files[path] = gzipSync(Buffer.alloc(64 << 20));
    const reasons: string[] = [];
    const one = filesFrom(mirror(), {
      onSleep: () => {
        try {
          load(one, deployer);
        } catch (error) {
          reasons.push((error as Error).message);
        }
        files[path] = gzipSync(RUNTIME);
      },
    });
    one.want([deployer]);
    await one.settled();
    expect(reasons).toEqual([expect.stringMatching(/Cannot create a Buffer larger than 4194304 bytes/)]);
    expect(load(one, deployer)).toEqual(RUNTIME);
  });

  it("that an operator puts there meanwhile are taken", async () => {
    isDown = true;
    const one = filesFrom(mirror(), {
      onSleep: () => {
        mkdirSync(join(folder, "upgrades"), { recursive: true });
        writeFileSync(at(code), bytesToHex(CODE));
      },
    });
    one.want([code]);
    await one.settled();
    expect(load(one, code)).toEqual(CODE);
  });

  it("that are damaged on the disk are fetched again", async () => {
    const first = filesFrom(mirror());
    first.want([bundle]);
    await first.settled();
    writeFileSync(at(bundle), "{}");
    const second = filesFrom(mirror());
    second.want([bundle]);
    await second.settled();
    expect([load(second, bundle), asked.length, [...readFileSync(at(bundle))]]).toEqual([BUNDLE, 2, [...BUNDLE]]);
  });

  it("are not fetched with --offline: the error is that of a file that nobody provided", async () => {
    const one = filesFrom(mirror(), { offline: true });
    one.want(ALL);
    await one.settled();
    expect(() => load(one, bundle)).toThrow(/x_nut_bundle\.json is not in the folder/);
    expect(asked).toEqual([]);
  });
});

it("each file of the table has a public address", () => {
  const of = (artifact: UpgradeArtifact): readonly string[] => placesOf(publishedUpgrade(artifact), undefined);
  expect(of(UPGRADE_ARTIFACTS.karstBundle)[0]).toMatch(
    /^https:\/\/raw\.githubusercontent\.com\/ethereum-optimism\/optimism\/v1\.\d+\.\d+\/op-core\/nuts\/bundles\/karst_nut_bundle\.json$/,
  );
  expect(of(UPGRADE_ARTIFACTS.lagoonBundle)).toEqual([
    "https://raw.githubusercontent.com/ethereum-optimism/optimism/refs/tags/op-node/v1.21.0/op-core/nuts/bundles/lagoon_nut_bundle.json",
  ]);
  expect(of(UPGRADE_ARTIFACTS.preliminaryLagoonBundle)[0]).toMatch(/\/refs\/tags\/v1\.19\.6\/.*\/lagoon_nut_bundle\.json$/);
  expect(of(UPGRADE_ARTIFACTS.fjordGasPriceOracle)).toEqual([
    "https://raw.githubusercontent.com/ethereum-optimism/specs/main/specs/static/bytecode/fjord-gas-price-oracle-deployment.txt",
  ]);
});
