import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { foundryBinary, runProgram } from "@rnode/program/testing";
import { decodeBatcherData, decodeBlob } from "@rnode/protocol";
import {
  commitmentToVersionedHash,
  createPublicClient,
  createWalletClient,
  type Hex,
  hexToBytes,
  http,
  numberToHex,
  stringToHex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import { blobsOfBlocks, sendBlobs } from "../testing/blob-batches.ts";
import { isSidecarProved, type SidecarJson } from "../testing/proved-sidecar.ts";
import { l1ViemChain, l2ViemChain } from "../viem-chains.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

const L1_BLOCK_TIME = 2;
/** cast loads its trusted setup with each run. */
const CAST_TIMEOUT_MS = 60_000;
const cast = foundryBinary("cast");

describe("a devnet over our own L1, as it starts by default", () => {
  const datadir = mkdtempSync(join(tmpdir(), "rnode-blobs-e2e-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  let devnet: Devnet;
  let view: ChainView;

  beforeAll(async () => {
    devnet = await startDevnet(scope, { datadir, basePort: 0, parameters: { l1BlockTimeSec: L1_BLOCK_TIME }, supervise: false });
    view = new ChainView(devnet);
  });
  afterAll(async () => {
    await scope.close();
  });

  const account = (index: number) => privateKeyToAccount(devnet.info.accounts[index]!.privateKey);
  const l1 = () => createPublicClient({ chain: l1ViemChain(devnet.info), transport: http(), pollingInterval: 200 });
  const l1Head = async (): Promise<number> => Number(await view.l1<Hex>("eth_blockNumber"));
  const castRead = async <T>(...args: readonly string[]): Promise<T> =>
    JSON.parse(await runProgram(cast!, [...args, "--json", "--rpc-url", devnet.info.endpoints.l1], {}, CAST_TIMEOUT_MS)) as T;
  const sidecarsOf = async (blockNumber: number): Promise<readonly SidecarJson[]> => {
    const { timestamp } = await l1().getBlock({ blockNumber: BigInt(blockNumber) });
    const beacon = `${devnet.info.endpoints.l1}/eth/v1`;
    const get = async <T>(path: string): Promise<T> =>
      ((await (await fetch(`${beacon}/${path}`)).json()) as { readonly data: T }).data;
    const { genesis_time } = await get<{ readonly genesis_time: string }>("beacon/genesis");
    const { SECONDS_PER_SLOT } = await get<{ readonly SECONDS_PER_SLOT: string }>("config/spec");
    return get(`beacon/blob_sidecars/${(Number(timestamp) - Number(genesis_time)) / Number(SECONDS_PER_SLOT)}`);
  };
  /** The last transaction of the batch submitter, once there is one. */
  const batchTransaction = () =>
    waitFor("a batch on L1", 60_000, async () => {
      const from = account(2).address.toLowerCase();
      for (let number = await l1Head(); number > 0; number--) {
        const { transactions } = await l1().getBlock({ blockNumber: BigInt(number), includeTransactions: true });
        const found = transactions.find((tx) => tx.from === from);
        if (found !== undefined) return found;
      }
      return undefined;
    });
  const verifierHas = (number: number) =>
    waitFor(`safe block ${number} on the verifier`, 60_000, async () => {
      const { safe_l2 } = await view.syncStatus("verifier");
      return safe_l2.number >= number ? safe_l2.number : undefined;
    });

  it("publishes batches as blobs, of which viem, cast and an independent check of KZG say the same", async () => {
    await verifierHas(1);
    const { hash, type, blobVersionedHashes = [], blockNumber } = await batchTransaction();
    expect([type, blobVersionedHashes.length > 0]).toEqual(["eip4844", true]);
    if (cast !== undefined) {
      type CastTransaction = { readonly type: Hex; readonly blobVersionedHashes: readonly Hex[] };
      expect(await castRead<CastTransaction>("tx", hash)).toMatchObject({ type: "0x3", blobVersionedHashes });
      const receipt = await castRead<{ readonly status: Hex; readonly blobGasUsed: Hex }>("receipt", hash);
      expect([receipt.status, Number(receipt.blobGasUsed)]).toEqual(["0x1", 131_072 * blobVersionedHashes.length]);
    }
    const sidecars = await sidecarsOf(Number(blockNumber));
    const ours = sidecars.filter(({ kzg_commitment: commitment }) =>
      blobVersionedHashes.includes(commitmentToVersionedHash({ commitment, to: "hex" })),
    );
    expect(ours).toHaveLength(blobVersionedHashes.length);
    for (const sidecar of ours) {
      expect([isSidecarProved(sidecar), isSidecarProved(sidecar, 40)]).toEqual([true, false]);
      expect(decodeBatcherData(decodeBlob(hexToBytes(sidecar.blob))).length).toBeGreaterThan(0);
    }
  });

  it("waits for blobs that the beacon node has lost, and goes on when they are found", {
    tags: "long",
    timeout: 180_000,
  }, async () => {
    await devnet.programs.verifierNode.stop();
    const from = (await l1Head()) + 1;
    const lost = await waitFor("another batch on L1", 30_000, async () => {
      const { blockNumber } = await batchTransaction();
      return Number(blockNumber) >= from ? Number(blockNumber) : undefined;
    });
    expect(await view.l1<number>("dev_loseBlobs", [{ blocks: [lost] }])).toBeGreaterThan(0);
    await devnet.programs.verifierNode.start();
    // Derivation reads ahead, so it misses the blobs before it has derived all earlier blocks. It is stuck when two more L1
    // blocks change nothing.
    let stuck = { safe: -1, sinceL1: 0 };
    try {
      await waitFor("the verifier to stand still before them", 60_000, async () => {
        const [safe, head] = [await view.safeNumber("verifier"), await l1Head()];
        if (safe !== stuck.safe) stuck = { safe, sinceL1: head };
        const says = devnet.programs.verifierNode
          .logTail(200)
          .some((line) => line.includes(`batcher blobs of L1 block ${lost} `) && line.includes("not available"));
        return says && head > lost && head >= stuck.sinceL1 + 3 ? true : undefined;
      });
    } finally {
      await view.l1("dev_restoreBlobs", [{ blocks: [lost] }]);
    }
    await verifierHas(stuck.safe + 1);
  });

  it("derives batches beside blobs of others and blobs that hold none", { tags: "long", timeout: 180_000 }, async () => {
    const { info, programs } = devnet;
    // Only this test sends transactions from the batcher's account, and the sequencer's node knows the earlier blocks.
    await programs.batcher.stop();
    const last = (await l1Head()) + 2;
    const first = await waitFor("what was published before", 30_000, async () => {
      const { current_l1, safe_l2 } = await view.syncStatus("sequencer");
      return current_l1.number >= last ? safe_l2.number + 1 : undefined;
    });
    const wallet = createWalletClient({ account: account(5), chain: l2ViemChain(info), transport: http() });
    const hash = await wallet.sendTransaction({ to: account(9).address, value: 1n });
    const l2 = createPublicClient({ chain: l2ViemChain(info), transport: http(), pollingInterval: 200 });
    const to = Number((await l2.waitForTransactionReceipt({ hash })).blockNumber);
    const until = Math.max(to, first + 2);
    await waitFor(`block ${until}`, 20_000, async () => ((await view.unsafeNumber("sequencer")) >= until ? true : undefined));

    // In one L1 block: a stranger's blobs to the inbox, made by viem and by cast, a blob that holds no batcher data, and the batch.
    const [start, end] = await blobsOfBlocks(info, first, until);
    const junk = new Uint8Array(131_072).fill(1);
    await view.l1("evm_setIntervalMining", [0]);
    const sent = [await sendBlobs(info, account(8), [junk]), await sendBlobs(info, account(2), [junk, start!, end!])];
    if (cast !== undefined) {
      const path = join(datadir, "for-cast");
      writeFileSync(path, "what cast makes a blob of");
      const { privateKey } = info.accounts[7]!;
      const args = ["send", "--async", "--blob", "--eip4844", "--path", path, "--private-key", privateKey];
      sent.push(
        (await runProgram(cast, [...args, "--rpc-url", info.endpoints.l1, info.parameters.batchInbox], {}, CAST_TIMEOUT_MS)) as Hex,
      );
    }
    await view.l1("evm_mine");
    const receipts = await Promise.all(sent.map((each) => l1().waitForTransactionReceipt({ hash: each })));
    expect(receipts.map(({ status, blockNumber }) => [status, blockNumber])).toEqual(
      sent.map(() => ["success", receipts[0]!.blockNumber]),
    );
    if (cast !== undefined) {
      const blobs = (await sidecarsOf(Number(receipts[0]!.blockNumber))).map(({ blob }) => blob);
      const text = stringToHex("what cast makes").slice(2);
      expect(blobs.some((blob) => blob.includes(text))).toBe(true);
    }
    await view.l1("evm_setIntervalMining", [L1_BLOCK_TIME]);

    await verifierHas(until);
    for (const number of [first, to, until]) {
      expect(await view.blockHash("verifier", number)).toBe(await view.blockHash("sequencer", number));
    }
    const block = await view.engine<{ transactions: readonly Hex[] }>("verifier", "eth_getBlockByNumber", [numberToHex(to), false]);
    expect(block.transactions).toContain(hash);

    // The batcher, which has no record of these transactions, continues after them.
    await programs.batcher.start();
    await verifierHas(until + 2);
  });
});
