import { kzgContext } from "@rnode/kzg";
import { createPublicClient, createWalletClient, type Hex, http, stringToHex, toBlobs } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { afterEach, describe, expect, it } from "vitest";
import { type DevClient, startDevTestClient } from "../testing/dev-client.ts";

// Faults of an L1 on request: missed slots, stalled finality, missing blobs.

const alice = mnemonicToAccount("test test test test test test test test test test test junk");
let dev: DevClient;
afterEach(() => dev.close());

const client = () => createPublicClient({ chain: foundry, transport: http(dev.url), cacheTime: 0 });
const mine = (blocks: number) => dev.rpc.call("anvil_mine", [blocks]);
const get = async <T>(path: string): Promise<{ readonly status: number; readonly data: T | undefined }> => {
  const response = await fetch(`${dev.url}/eth/v1/${path}`);
  return { status: response.status, data: ((await response.json()) as { readonly data?: T }).data };
};
interface Header {
  readonly root: Hex;
  readonly header: { readonly message: { readonly slot: string; readonly parent_root: Hex } };
}
const headerAt = async (id: string | number) => (await get<Header>(`beacon/headers/${id}`)).data;
const slotOfHead = async (): Promise<number> => Number((await headerAt("head"))!.header.message.slot);
const labels = async (): Promise<readonly bigint[]> =>
  Promise.all((["latest", "safe", "finalized"] as const).map(async (blockTag) => (await client().getBlock({ blockTag })).number));

describe("dev_missSlots", () => {
  it("leaves slots without a block, over which the next block names its parent", async () => {
    dev = await startDevTestClient("--dev.no-mining", "--dev.slot-time=12");
    await mine(2);
    const before = await slotOfHead();
    const parent = await headerAt("head");
    await dev.rpc.call("dev_missSlots", [3]);
    await mine(1);
    const after = await slotOfHead();
    expect(after - before).toBeGreaterThanOrEqual(4);
    for (let slot = before + 1; slot < after; slot++) expect((await get(`beacon/headers/${slot}`)).status).toBe(404);
    expect((await headerAt(after))!.header.message.parent_root).toBe(parent!.root);
    const [last, previous] = await Promise.all([client().getBlock(), client().getBlock({ blockNumber: 2n })]);
    expect([last.number, last.timestamp - previous.timestamp]).toEqual([3n, 12n * BigInt(after - before)]);
  });

  it("leaves out blocks that are due", { tags: "long" }, async () => {
    dev = await startDevTestClient("--dev.block-time=1s");
    await expect.poll(() => client().getBlockNumber()).toBeGreaterThan(1n);
    await dev.rpc.call("dev_missSlots", [3]);
    const number = await client().getBlockNumber();
    await expect.poll(() => client().getBlockNumber()).toBeGreaterThan(number + 1n);
    const [last, afterGap, next] = await Promise.all(
      [0n, 1n, 2n].map(async (at) => Number((await client().getBlock({ blockNumber: number + at })).timestamp)),
    );
    // A process that gets no CPU time for a second also misses a slot.
    expect(afterGap! - last!).toBeGreaterThanOrEqual(4);
    expect(next! - afterGap!).toBeLessThan(4);
  });
});

describe("dev_stallFinality", () => {
  it("keeps the safe and the finalized block where they are, and lets them go on", async () => {
    dev = await startDevTestClient("--dev.no-mining", "--dev.slots-in-an-epoch=2");
    await mine(10);
    expect(await labels()).toEqual([10n, 8n, 6n]);
    await dev.rpc.call("dev_stallFinality", [true]);
    await mine(5);
    expect(await labels()).toEqual([15n, 8n, 6n]);
    const checkpoints = await get<{ readonly finalized: { readonly root: Hex } }>("beacon/states/head/finality_checkpoints");
    expect(checkpoints.data!.finalized.root).toBe((await headerAt("finalized"))!.root);
    expect(await dev.rpc.call("dev_status", [])).toMatchObject({ finalityStalled: true });
    // Blocks that are not final can be replaced.
    await dev.rpc.call("dev_reorg", [{ depth: 7 }]);
    await dev.rpc.call("dev_stallFinality", [false]);
    await mine(1);
    expect(await labels()).toEqual([16n, 14n, 12n]);
  });
});

describe("blobs", () => {
  const send = async (text: string): Promise<{ readonly number: bigint; readonly slot: number }> => {
    const wallet = createWalletClient({ account: alice, chain: foundry, transport: http(dev.url) });
    const blobs = toBlobs({ data: stringToHex(text) });
    const hash = await wallet.sendTransaction({ to: alice.address, kzg: kzgContext(), blobs, maxFeePerBlobGas: 10n });
    const { blockNumber } = await client().getTransactionReceipt({ hash });
    return { number: blockNumber, slot: await slotOfHead() };
  };

  it("are kept for as many slots as --dev.blob-retention says; roots of blocks stay the same", async () => {
    dev = await startDevTestClient("--dev.fork=prague", "--dev.blob-retention=8");
    const old = await send("old");
    const { root } = (await headerAt(old.slot))!;
    await dev.rpc.call("dev_missSlots", [5]);
    const young = await send("young");
    expect((await get(`beacon/blobs/${old.slot}`)).status).toBe(200);
    await dev.rpc.call("dev_missSlots", [4]);
    await mine(1);
    expect((await get(`beacon/blobs/${old.slot}`)).status).toBe(404);
    expect((await get(`beacon/blob_sidecars/${old.slot}`)).status).toBe(404);
    expect((await get<readonly Hex[]>(`beacon/blobs/${young.slot}`)).data).toHaveLength(1);
    expect((await headerAt(old.slot))!.root).toBe(root);
  });

  it("can be lost one by one, by their versioned hashes", async () => {
    dev = await startDevTestClient("--dev.fork=prague");
    const [first, second] = [await send("first"), await send("second")];
    const block = await client().getBlock({ blockNumber: first.number, includeTransactions: true });
    const versionedHashes = block.transactions[0]!.blobVersionedHashes!;
    expect(await dev.rpc.call("dev_loseBlobs", [{ versionedHashes }])).toBe(1);
    expect([await get(`beacon/blobs/${first.slot}`), await get(`beacon/blobs/${second.slot}`)]).toMatchObject([
      { status: 404 },
      { status: 200 },
    ]);
    // The chain itself still has them: after a reorganisation the transactions are in blocks again.
    await dev.rpc.call("dev_reorg", [{ depth: 2 }]);
    const numbers = [first.number, first.number + 1n];
    const again = await Promise.all(numbers.map((blockNumber) => client().getBlock({ blockNumber })));
    expect(again.flatMap(({ transactions }) => transactions)).toHaveLength(2);
    const blobsNow = async () => {
      const found = await Promise.all([first.slot, second.slot].map((slot) => get<readonly Hex[]>(`beacon/blobs/${slot}`)));
      return found.flatMap(({ data }) => data ?? []).length;
    };
    expect(await blobsNow()).toBe(1);
    await dev.rpc.call("dev_restoreBlobs", [{ versionedHashes }]);
    expect(await blobsNow()).toBe(2);
  });
});
