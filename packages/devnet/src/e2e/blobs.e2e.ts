import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { createPublicClient, createWalletClient, type Hex, http, numberToHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import { Program } from "../program.ts";
import { SLOT_SEC, startAnvilBeacon } from "../testing/anvil-beacon.ts";
import { blobsOfBlocks, sendBlobs } from "../testing/blob-batches.ts";
import { l1ViemChain, l2ViemChain } from "../viem-chains.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

// The batch submitter does not write blobs yet: what it would publish is published here.

const datadir = mkdtempSync(join(tmpdir(), "rnode-blobs-e2e-"));
const scope = new Scope({ log: silentLogger, clock: systemClock });
const L1_BLOCK_TIME = 2;
let devnet: Devnet;
let view: ChainView;

beforeAll(async () => {
  devnet = await startDevnet(scope, {
    datadir,
    basePort: 0,
    l1: "anvil",
    parameters: { l1BlockTimeSec: L1_BLOCK_TIME },
    supervise: false,
  });
  view = new ChainView(devnet);
});
afterAll(async () => {
  await scope.close();
  if (process.env.RNODE_E2E_KEEP === undefined) rmSync(datadir, { recursive: true, force: true });
});

it("rnode derives a chain from blobs", async () => {
  const { info, programs } = devnet;
  const account = (index: number) => privateKeyToAccount(info.accounts[index]!.privateKey);
  const l1 = createPublicClient({ chain: l1ViemChain(info), transport: http(), pollingInterval: 200 });
  const l1Head = async (): Promise<number> => Number(await view.l1<Hex>("eth_blockNumber"));

  // Nothing comes in calldata any more, and the sequencer's node knows what did.
  await programs.batcher.stop();
  await programs.verifierNode.stop();
  const last = (await l1Head()) + 2;
  const first = await waitFor("what was published before", 20_000, async () => {
    const { current_l1, safe_l2 } = await view.syncStatus("sequencer");
    return current_l1.number >= last ? safe_l2.number + 1 : undefined;
  });

  // Blocks with transactions of users.
  const wallet = createWalletClient({ account: account(5), chain: l2ViemChain(info), transport: http() });
  const hash = await wallet.sendTransaction({ to: account(9).address, value: 1n });
  const l2 = createPublicClient({ chain: l2ViemChain(info), transport: http(), pollingInterval: 200 });
  const to = Number((await l2.waitForTransactionReceipt({ hash })).blockNumber);
  const until = Math.max(to, first + 2);
  await waitFor(`block ${until}`, 20_000, async () => ((await view.unsafeNumber("sequencer")) >= until ? true : undefined));

  // In one L1 block: a stranger's blob to the inbox, a blob that holds no batcher data, and the batch.
  const [start, end] = await blobsOfBlocks(info, first, until);
  const junk = new Uint8Array(131_072).fill(1);
  await view.l1("evm_setIntervalMining", [0]);
  const sent = [await sendBlobs(info, account(8), [junk]), await sendBlobs(info, account(2), [junk, start!, end!])];
  await view.l1("evm_mine");
  const receipts = await Promise.all(sent.map((each) => l1.waitForTransactionReceipt({ hash: each })));
  expect(receipts.map(({ status, blockNumber }) => [status, blockNumber])).toEqual(
    sent.map(() => ["success", receipts[0]!.blockNumber]),
  );
  await view.l1("evm_setIntervalMining", [L1_BLOCK_TIME]);

  const beacon = await startAnvilBeacon(info.endpoints.l1);
  scope.onClose("beacon", () => beacon.close());
  const { spec } = programs.verifierNode;
  const options = [
    `--l1.beacon=${beacon.url}`,
    `--l1.beacon.slot-duration-override=${SLOT_SEC}`,
    // anvil computes the transactions root of a block with blobs wrongly
    "--l1.trustrpc",
  ];
  const node = new Program({
    ...spec,
    name: "verifier rnode with blobs",
    logPath: join(info.paths.logs, "blob-verifier-rnode.log"),
    args: () => [...spec.args().filter((arg) => arg !== "--l1.beacon.ignore"), ...options],
  });
  scope.onClose("verifier rnode with blobs", () => node.stop());
  await node.start();
  const safe = await waitFor(`safe block ${until}`, 40_000, async () => {
    const { safe_l2 } = await view.syncStatus("verifier");
    return safe_l2.number >= until ? safe_l2 : undefined;
  });
  expect(safe.number).toBe(until);
  for (const number of [first, to, until]) {
    expect(await view.blockHash("verifier", number)).toBe(await view.blockHash("sequencer", number));
  }
  const block = await view.engine<{ transactions: readonly Hex[] }>("verifier", "eth_getBlockByNumber", [numberToHex(to), false]);
  expect(block.transactions).toContain(hash);
}, 120_000);
