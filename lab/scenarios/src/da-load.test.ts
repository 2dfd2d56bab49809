import { bytesToHex, type Hex, hexToBytes, keccak256, privateKeyToAddress, toQuantity, uint64ToBytes } from "@rnode/primitives";
import {
  encodeTransaction,
  type FeeMarketTransaction,
  flzCompressLength,
  type RollupConfig,
  signTransaction,
} from "@rnode/protocol";
import { RpcBlockSource } from "@rnode/rbatcher";
import { createThrottledLoad, simRollupConfig } from "@rnode/rbatcher/testing";
import { CHAIN_ID, startTestClient, type TestClient } from "@rnode/rengine/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

// A transaction's estimated size on the whole path: users send it to the pool of an execution client, its builder includes it,
// the batch submitter reads and counts the block, and the builder obeys the resulting limits. All sizes are computed again here.

/** Fjord's estimate in whole bytes, as written in the specification. */
const estimate = (encoded: Uint8Array): number =>
  Math.max(100, Math.floor((836_500 * flzCompressLength(encoded) - 42_585_600) / 1_000_000));
const BLOCK_BYTES = 70;

const LOWER = 4_000;
const UPPER = 11_500;
const BOUNDS = [`--throttle.unsafe-da-bytes-lower-threshold=${LOWER}`, `--throttle.unsafe-da-bytes-upper-threshold=${UPPER}`];

const SENDERS = Array.from({ length: 24 }, (_, index) => keccak256(new TextEncoder().encode(`da-load ${index}`)));
/** bytes of data: none, tokens and swaps, and large ones; zeros compress, the others do not */
const SHAPES = [0, 68, 68, 260, 260, 900, 900, 3_000].flatMap((bytes) => [
  { bytes, isZero: false },
  { bytes, isZero: true },
  { bytes, isZero: false },
]);

/** senders whose transactions have the least estimate */
const SMALLEST = SHAPES.filter(({ bytes, isZero }) => isZero || bytes <= 68).length;

const noise = (seed: number, bytes: number): Uint8Array =>
  Uint8Array.from({ length: bytes }, (_, at) => keccak256(uint64ToBytes(seed), uint64ToBytes(at >> 5))[at & 31]!);

function transaction(sender: number, nonce: number): Uint8Array {
  const { bytes, isZero } = SHAPES[sender]!;
  const unsigned: FeeMarketTransaction = {
    type: 0x02,
    chainId: BigInt(CHAIN_ID),
    nonce: BigInt(nonce),
    maxPriorityFeePerGas: 1_000_000n,
    maxFeePerGas: 10n ** 10n,
    gasLimit: 500_000n,
    to: new Uint8Array(20).fill(7),
    value: 1n,
    data: isZero ? new Uint8Array(bytes) : noise(sender * 100 + nonce, bytes),
    accessList: [],
  };
  return encodeTransaction(signTransaction(unsigned, SENDERS[sender]!));
}

describe("the load of data, from the pool to the builder's limits", () => {
  let node: TestClient;
  let rollup: RollupConfig;
  let source: RpcBlockSource;
  /** blocks, all of one epoch */
  let blockCount = 0;
  let genesis: { readonly hash: Hex; readonly timestamp: Hex; readonly parentHash: Hex };
  beforeAll(async () => {
    const alloc = Object.fromEntries(
      SENDERS.map((key) => [bytesToHex(privateKeyToAddress(key)), { balance: toQuantity(10n ** 20n) }]),
    );
    node = await startTestClient([], undefined, { alloc });
    genesis = await node.rpc.call("eth_getBlockByNumber", ["0x0", false]);
    const base = simRollupConfig();
    const forkTimes = Object.fromEntries(Object.keys(base.forkTimes).map((fork) => [fork, 0]));
    rollup = {
      ...base,
      l2ChainId: BigInt(CHAIN_ID),
      forkTimes,
      genesis: { ...base.genesis, l2: { hash: genesis.hash, number: 0 } },
    };
    source = new RpcBlockSource(node.rpc, rollup);
  });
  afterAll(() => node.remove());

  const waiting = async (): Promise<number> => {
    const { pending, queued } = await node.rpc.call<{ pending: Hex; queued: Hex }>("txpool_status", []);
    return Number(pending) + Number(queued);
  };
  const sendAll = async (nonce: number): Promise<Uint8Array[]> => {
    const sent = SENDERS.map((_, sender) => transaction(sender, nonce));
    for (const raw of sent) await node.rpc.call("eth_sendRawTransaction", [bytesToHex(raw)]);
    return sent;
  };
  /** Builds a block. @returns the pool's transactions in it, encoded */
  const build = async (): Promise<Uint8Array[]> => {
    const { payload } = await node.buildBlock({ l1: { sequenceNumber: ++blockCount } });
    return payload.executionPayload.transactions.map((raw) => hexToBytes(raw)).filter((raw) => raw[0] !== 0x7e);
  };
  const sizeOf = (transactions: readonly Uint8Array[]): number => transactions.reduce((sum, raw) => sum + estimate(raw), 0);

  it("is counted in bytes, limits what is built, and lets go of it when blocks are safe", async () => {
    const limits: number[][] = [];
    const call = async (method: string, params: readonly unknown[]): Promise<unknown> => {
      limits.push(params.map(Number));
      return node.rpc.call(method, [...params]);
    };
    const l1Origin = { hash: genesis.hash, number: 0 };
    const ref = { ...genesis, number: 0, timestamp: Number(genesis.timestamp), l1Origin, sequenceNumber: 0 };
    const { manager, throttle } = createThrottledLoad(ref, { name: "engine", call }, BOUNDS);
    let expected = 0;
    let read = 0;
    const addBuilt = async (built: readonly Uint8Array[]): Promise<void> => {
      const [block] = await source.blocks(++read, 1);
      expect(block!.daBytes).toBe(sizeOf(built) + BLOCK_BYTES);
      expect(manager.addBlock(block!).kind).toBe("ok");
      expected += sizeOf(built) + BLOCK_BYTES;
      expect(manager.unsafeDaBytes).toBe(expected);
    };
    const quadratic = (most: number, least: number): number =>
      Math.floor(most - Math.min(1, (expected - LOWER) / (UPPER - LOWER)) ** 2 * (most - least));

    // Without load, the only limit is far above the pool's size, and everything is built.
    await throttle.step();
    expect(limits.at(-1)).toEqual([0, 130_000]);
    const first = await sendAll(0);
    const all = await build();
    expect(all.map(bytesToHex).toSorted()).toEqual(first.map(bytesToHex).toSorted());
    await addBuilt(all);
    expect(expected).toBeGreaterThan(LOWER);

    // Limits follow from the load: first between the thresholds, where only the largest transactions wait, then the lowest.
    const nextNonces: readonly (readonly number[])[] = [[1], [2, 3], []];
    const sizes: number[][] = [];
    for (const nonces of nextNonces) {
      for (const nonce of nonces) await sendAll(nonce);
      await throttle.step();
      const [maxTransaction, maxBlock] = [quadratic(20_000, 150), quadratic(130_000, 2_000)];
      expect(limits.at(-1)).toEqual([maxTransaction, maxBlock]);
      const before = await waiting();
      const built = await build();
      const largest = Math.max(...built.map(estimate));
      expect(largest).toBeLessThanOrEqual(maxTransaction);
      expect(sizeOf(built)).toBeLessThanOrEqual(maxBlock);
      expect(await waiting()).toBe(before - built.length);
      sizes.push([maxTransaction, maxBlock, largest, sizeOf(built)]);
      await addBuilt(built);
    }
    expect(sizes[0]![0]).toBeGreaterThan(819); // an estimate of 900 bytes of noise
    expect(sizes[0]![0]).toBeLessThan(2_630); // of 3,000 bytes
    expect(sizes[0]![2]).toBe(819);
    expect(sizes[1]).toEqual([150, 2_000, 100, 2_000]); // the smallest transactions that fit into the block
    expect(sizes[2]!.slice(0, 3)).toEqual([150, 2_000, 100]); // the rest of them

    // Once the blocks are safe, the load is zero, and large transactions are built.
    const left = await waiting();
    expect(left).toBe(2 + 2 * SENDERS.length - SMALLEST * 2);
    const l1Head = 10;
    manager.requestFlush();
    let published = 0;
    for (let tx = await manager.nextTxData(l1Head); tx !== undefined; tx = await manager.nextTxData(l1Head)) {
      published += tx.data.reduce((sum, { length }) => sum + length, 0);
      manager.confirm(tx.id, l1Head);
    }
    expect(published).toBeGreaterThan(expected / 2); // estimates are of this size
    expect(published).toBeLessThan(expected * 2);
    const { ref: tip } = (await source.blocks(read, 1))[0]!;
    expect(manager.update({ safeL2: tip, unsafeL2: tip, currentL1: l1Head, l1Head }).kind).toBe("ok");
    expect(manager.unsafeDaBytes).toBe(0);
    await throttle.step();
    expect(limits.at(-1)).toEqual([0, 130_000]);
    expect(await build()).toHaveLength(left);
    manager.destroy();
  });
});
