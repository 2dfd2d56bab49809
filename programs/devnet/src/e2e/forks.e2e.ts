import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { firstBlockFacts, OP_FORKS, type OpFork, upgradeArtifactsFromFiles } from "@rnode/protocol";
import { missingUpgradeFiles } from "@rnode/protocol/testing";
import { createPublicClient, createWalletClient, type Hex, http, numberToHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import { loadContracts } from "../l1/contracts.ts";
import { type PredeployName, predeploy } from "../l2/predeploys.ts";
import { Program } from "../processes/program.ts";
import type { ProgramName } from "../processes/program-names.ts";
import { blobsOfBlocks, loadTrustedSetup, sendBlobs } from "../testing/blob-batches.ts";
import { recordAndReplay } from "../testing/recorded-l1.ts";
import { l1ViemChain, l2ViemChain } from "../viem-chains.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

/** The operator's folder of published artifacts, as for the node; what Ecotone and later forks deploy is not in this repository. */
const published = process.env.RNODE_ROLLUP_UPGRADES_DIR || undefined;
const source =
  published &&
  upgradeArtifactsFromFiles(readdirSync(published).map((name) => ({ name, content: readFileSync(join(published, name)) })));
const firstLacking = OP_FORKS.findIndex((fork) => missingUpgradeFiles([fork], source || undefined, true).length > 0);
/** The newest fork to which the folder's files reach. */
const LAST: OpFork = OP_FORKS.at(firstLacking === -1 ? -1 : firstLacking - 1)!;
const hasBlobs = OP_FORKS.indexOf(LAST) >= OP_FORKS.indexOf("ecotone");
/** Blocks take a second, so each is also the number of the fork's first block. */
const DELAYS_SEC: Readonly<Partial<Record<OpFork, number>>> = {
  regolith: 3,
  canyon: 4,
  delta: 6,
  ecotone: 8,
  fjord: 10,
  granite: 11,
  holocene: 12,
  isthmus: 14,
  jovian: 16,
  karst: 18,
  lagoon: 20,
};
const L1_BLOCK_TIME = 2;
const IMPLEMENTATION_SLOT = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";
const ETH_LIQUIDITY = "0x4200000000000000000000000000000000000025";
const CREATE2_DEPLOYER = "0x13b0D85CcB8bf860b6b79AF3029fCA081AE9beF2";

const forks: readonly OpFork[] = OP_FORKS.slice(1, OP_FORKS.indexOf(LAST) + 1);
/** paths asked of the mirror */
const asked: string[] = [];
let datadir: string;
let scope: Scope;
beforeEach(() => {
  datadir = mkdtempSync(join(tmpdir(), "rnode-forks-e2e-"));
  scope = new Scope({ log: silentLogger, clock: systemClock });
  asked.length = 0;
});
afterEach(() => scope.close());

if (firstLacking !== -1)
  console.log(`not run: from ${LAST} to ${OP_FORKS.at(-1)} (RNODE_ROLLUP_UPGRADES_DIR has the code that these forks deploy)`);

const firstBlockOf = (fork: OpFork): number => DELAYS_SEC[fork]!;

/** A mirror with the paths of upstream's repositories, served on loopback; the programs fetch their files from it. */
async function serveMirror(): Promise<string> {
  const create2Deployer = gzipSync(Buffer.from(loadContracts().preinstalls.Create2Deployer!.code.slice(2), "hex"));
  const server = createServer(({ url = "" }, response) => {
    asked.push(url);
    const [, name] = /^\/(?:specs\/static\/bytecode|op-core\/nuts\/bundles)\/([\w.-]+)$/.exec(url) ?? [];
    const file = name === undefined || published === undefined ? undefined : join(published, name);
    if (/^\/superchain\/extra\/bytecodes\/0x[0-9a-f]{64}\.bin\.gz$/.test(url)) response.end(create2Deployer);
    else if (file !== undefined && existsSync(file)) response.end(readFileSync(file));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  scope.onClose("mirror", async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Lagoon's first block depends on the dependency set. */
const CLUSTERS = LAST === "lagoon" ? [[], [902]] : [[]];

it.each(CLUSTERS.map((otherChains) => ({ otherChains })))(
  `goes from Bedrock to ${LAST}, on the sequencer and, from a recording of L1, on the verifier: $otherChains`,
  {
    tags: "long",
    timeout: 120_000,
  },
  async ({ otherChains }) => {
    const registry = `--registry=${await serveMirror()}`;
    const knowsForks: readonly ProgramName[] = ["sequencerEngine", "sequencerNode", "verifierEngine", "verifierNode"];
    const devnet = await startDevnet(scope, {
      datadir: join(datadir, "devnet"),
      basePort: 0,
      parameters: {
        l1BlockTimeSec: L1_BLOCK_TIME,
        l2BlockTimeSec: 1,
        otherChains,
        forkDelaysSec: Object.fromEntries(
          OP_FORKS.slice(1).map((fork) => [fork, forks.includes(fork) ? firstBlockOf(fork) : null]),
        ),
      },
      supervise: false,
      changeArgs: (program, args) => {
        if (!knowsForks.includes(program)) return args;
        return [
          ...args,
          registry,
          ...(args.some((arg) => arg.startsWith("--datadir=")) ? [] : [`--datadir=${join(datadir, program)}`]),
        ];
      },
    });
    const view = new ChainView(devnet);
    if (hasBlobs) loadTrustedSetup();

    // Before blobs: the batch submitter publishes calldata, and the verifier follows.
    const early = await sendEther(devnet, 5);
    const calldataTo = Math.max(early, firstBlockOf("canyon"));
    await waitFor(`safe block ${calldataTo} on the verifier`, 30_000, async () =>
      (await view.safeNumber("verifier")) >= calldataTo ? true : undefined,
    );
    await devnet.programs.verifierNode.stop();
    const last = firstBlockOf(LAST) + 2;
    const until = hasBlobs ? await publishBlobs(devnet, view, last) : await publishCalldata(devnet, view, last);

    const { url, close } = await recordAndReplay(devnet.info, join(datadir, "recording"));
    scope.onClose("recorded L1", close);
    await verifyFrom(devnet, url);
    await waitFor(`safe block ${until} on the verifier`, 30_000, async () =>
      (await view.safeNumber("verifier")) >= until ? true : undefined,
    );

    expect(await view.hashes("verifier", until)).toEqual(await view.hashes("sequencer", until));
    for (const fork of forks) {
      expect({ fork, ...(await firstBlock(view, fork)) }).toEqual({
        fork,
        deposits: 1 + upgradesOf(fork, otherChains.length > 0),
        failed: [],
      });
    }
    const codeAt = (address: Hex, number: number) => view.engine<Hex>("verifier", "eth_getCode", [address, numberToHex(number)]);
    expect(new Set(asked.filter((path) => path.includes("/bytecodes/"))).size).toBe(1);
    expect(asked.filter((path) => path.includes("/bytecodes/")).length).toBe(2); // once for each engine
    const created = firstBlockOf("canyon");
    expect([await codeAt(CREATE2_DEPLOYER, created - 1), (await codeAt(CREATE2_DEPLOYER, created)).length]).toEqual([
      "0x",
      2 + 2 * 1584,
    ]);
    const implementationAt = (name: PredeployName, number: number) =>
      view.engine<Hex>("verifier", "eth_getStorageAt", [predeploy(name), IMPLEMENTATION_SLOT, numberToHex(number)]);
    for (const fork of forks.filter((each) => upgradesOf(each, false) > 0 && each !== "fjord")) {
      const name = fork === "lagoon" ? "ProxyAdmin" : "L1Block"; // Lagoon's L1Block is Karst's
      const number = firstBlockOf(fork);
      expect(await implementationAt(name, number)).not.toBe(await implementationAt(name, number - 1));
    }
    if (LAST === "lagoon") {
      const funds = await view.engine<Hex>("verifier", "eth_getBalance", [ETH_LIQUIDITY, numberToHex(until)]);
      expect(BigInt(funds)).toBe(otherChains.length > 0 ? (1n << 128n) - 1n : 0n);
    }
  },
);

function upgradesOf(fork: OpFork, isInCluster: boolean): number {
  const { upgrade } = firstBlockFacts(fork);
  if (upgrade.kind !== "bundle") return upgrade.kind === "steps" ? upgrade.steps.length : 0;
  const { transactions, ofCluster } = upgrade.bundle;
  return transactions + (isInCluster && ofCluster !== undefined ? ofCluster.before.length + ofCluster.after.length : 0);
}

async function firstBlock(
  view: ChainView,
  fork: OpFork,
): Promise<{ readonly deposits: number; readonly failed: readonly number[] }> {
  const id = numberToHex(firstBlockOf(fork));
  const receipts = await view.engine<readonly { status: Hex; type: Hex }[]>("verifier", "eth_getBlockReceipts", [id]);
  return {
    deposits: receipts.filter(({ type }) => type === "0x7e").length,
    failed: receipts.flatMap(({ status }, index) => (status === "0x1" ? [] : [index])),
  };
}

/** @returns the number of its block */
async function sendEther({ info }: Devnet, from: number): Promise<number> {
  const account = privateKeyToAccount(info.accounts[from]!.privateKey);
  const wallet = createWalletClient({ account, chain: l2ViemChain(info), transport: http() });
  const l2 = createPublicClient({ chain: l2ViemChain(info), transport: http(), pollingInterval: 200 });
  const hash = await wallet.sendTransaction({ to: info.accounts[9]!.address, value: 1n });
  const receipt = await l2.waitForTransactionReceipt({ hash });
  expect(receipt.status).toBe("success");
  return Number(receipt.blockNumber);
}

const reaches = (view: ChainView, number: number): Promise<true> =>
  waitFor(`block ${number}`, 30_000, async () => ((await view.unsafeNumber("sequencer")) >= number ? true : undefined));

/** Waits until the batch submitter has published block `last`. @returns the last block to be compared */
async function publishCalldata(devnet: Devnet, view: ChainView, last: number): Promise<number> {
  await reaches(view, last);
  const until = Math.max(last, await sendEther(devnet, 6));
  await waitFor(`safe block ${until} on the sequencer`, 30_000, async () =>
    (await view.safeNumber("sequencer")) >= until ? true : undefined,
  );
  return until;
}

/** Publishes everything that is not in calldata yet, up to block `last` at least, in blobs. @returns the last block that is in them */
async function publishBlobs(devnet: Devnet, view: ChainView, last: number): Promise<number> {
  const { info, programs } = devnet;
  await programs.batcher.stop();
  const settled = Number(await view.l1<Hex>("eth_blockNumber")) + 1;
  const first = await waitFor("what was published as calldata", 30_000, async () => {
    const { current_l1, safe_l2 } = await view.syncStatus("sequencer");
    return current_l1.number >= settled ? safe_l2.number + 1 : undefined;
  });
  await reaches(view, last);
  const until = Math.max(last, await sendEther(devnet, 6));
  const batcher = privateKeyToAccount(info.accounts[info.roles.batcher]!.privateKey);
  const hash = await sendBlobs(info, batcher, await blobsOfBlocks(info, first, until));
  const l1 = createPublicClient({ chain: l1ViemChain(info), transport: http(), pollingInterval: 200 });
  const { status } = await l1.waitForTransactionReceipt({ hash });
  expect(status).toBe("success");
  return until;
}

async function verifyFrom({ info, programs }: Devnet, url: string): Promise<void> {
  const { spec } = programs.verifierNode;
  const others = spec.args().filter((arg) => !arg.startsWith("--l1=") && !arg.startsWith("--l1.beacon="));
  const node = new Program({
    ...spec,
    name: "verifier rnode on a recorded L1",
    logPath: join(info.paths.logs, "recorded-verifier-rnode.log"),
    args: () => [...others, `--l1=${url}`, `--l1.beacon=${url}`],
  });
  scope.onClose(node.spec.name, () => node.stop());
  await node.start();
}
