import { brotliCompressSync, constants, deflateSync } from "node:zlib";
import { createDecompressor } from "@rnode/compression";
import { bytesToHex, hexToBytes, isCodedError, privateKeyToAddress } from "@rnode/primitives";
import {
  BLOB_BYTES,
  decodeL1BlockInfo,
  depositCalldata,
  encodeBatcherData,
  encodeChannelBatch,
  type ForkTimes,
  type Frame,
  type SetCodeTransaction,
  signTransaction,
} from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { isCriticalDerivationError } from "./pipeline.ts";
import { forksUpTo, GENESIS_TIME, join, Sim, type SimOptions } from "./testing/sim.ts";
import { BATCHER_KEY, configUpdateLog, depositLog, INBOX } from "./testing/sim-l1.ts";

const decompressor = createDecompressor();
const sim = (forkTimes: ForkTimes, over: Partial<SimOptions> = {}) => new Sim({ forkTimes, decompressor, ...over });

type Compression = "zlib" | "flushed zlib" | "brotli";
function compress(content: Uint8Array, how: Compression = "zlib"): Uint8Array {
  if (how === "brotli") return join([Uint8Array.of(1), new Uint8Array(brotliCompressSync(content))]);
  if (how === "zlib") return new Uint8Array(deflateSync(content, { level: 9 }));
  // Flushed but never closed, as batchers leave their streams.
  return new Uint8Array(deflateSync(content, { level: 9, finishFlush: constants.Z_SYNC_FLUSH }));
}

/** Posts the sequencer's blocks as one channel in the next L1 block. */
function post(s: Sim, from: number, to: number, type: "singular" | "span" = "singular", how: Compression = "zlib") {
  return postFrames(s, s.frames(compress(s.batches(type, from, to), how)));
}
const postFrames = (s: Sim, ...frames: readonly Frame[][]) =>
  s.l1.mine({ transactions: frames.map((list) => s.l1.calldata(encodeBatcherData(list))) });

/** Blocks 1 to `number` of the sequencer have been derived, and no others. */
function expectDerived(s: Sim, number: number) {
  expect(s.verifier.head.number).toBe(number);
  expect(s.agreesTo(number)).toBe(true);
  expect(s.safeHead.number).toBe(number);
}

const ERAS = ["regolith", "canyon", "delta", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian"] as const;
const hasSpans = (era: (typeof ERAS)[number]) => ERAS.indexOf(era) >= ERAS.indexOf("delta");
const hasBrotli = (era: (typeof ERAS)[number]) => ERAS.indexOf(era) >= ERAS.indexOf("fjord");

describe.each(ERAS)("%s", (era) => {
  const types = hasSpans(era) ? (["singular", "span"] as const) : (["singular"] as const);
  const compressions: Compression[] = hasBrotli(era) ? ["zlib", "flushed zlib", "brotli"] : ["zlib", "flushed zlib"];

  it.each(types.flatMap((type) => compressions.map((how) => [type, how] as const)))("derives %s batches, %s", async (type, how) => {
    const s = sim(forksUpTo(era));
    s.l1.mineEmpty(3);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    expect(number).toBeGreaterThan(12);
    post(s, 1, number, type, how);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
    // Every L1 block is the origin of an L2 block, and the derived L1 info agrees.
    expect(s.verifier.head.l1Origin.number).toBe(1003);
    // A second channel, with idle time in between.
    expect(await s.derive()).toBe("idle");
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    post(s, number + 1, s.sequencer.head.number, type, how);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, s.sequencer.head.number);
  });

  it("derives a channel whose frames come in several L1 blocks", async () => {
    const s = sim(forksUpTo(era));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    const frames = s.frames(compress(s.batches("singular", 1, number)), 5);
    postFrames(s, frames.slice(0, 2));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    postFrames(s, frames.slice(2, 3), frames.slice(3, 4));
    postFrames(s, frames.slice(4));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
  });

  it("derives deposits and config updates of the L1 origins", async () => {
    const s = sim(forksUpTo(era));
    const user = new Uint8Array(20).fill(0x0a);
    s.l1.mine({ logs: [depositLog(user, user, 5n), depositLog(user, user, 6n)] });
    s.l1.mine({ logs: [configUpdateLog(2, hexToBytes("02625a00"))] }); // gas limit 40,000,000
    s.l1.mine();
    await s.sequenceToL1Head();
    post(s, 1, s.sequencer.head.number);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, s.sequencer.head.number);
    const byOrigin = (number: number) =>
      s.verifier.payloads.slice(1).filter((_, i) => s.verifier.refAt(i + 1).l1Origin.number === number);
    const depositCounts = byOrigin(1001).map(({ transactions }) => transactions.filter(([type]) => type === 0x7e).length);
    expect(depositCounts).toEqual([3, 1, 1, 1, 1, 1]);
    expect(byOrigin(1001).map(({ gasLimit }) => gasLimit)).toEqual(Array(6).fill(30_000_000n));
    expect(byOrigin(1002).map(({ gasLimit }) => gasLimit)).toEqual(Array(6).fill(40_000_000n));
    expect(byOrigin(1003).map(({ gasLimit }) => gasLimit)).toEqual([40_000_000n]);
  });

  it("makes empty blocks when the sequencing window is over", async () => {
    const s = sim(forksUpTo(era), { seqWindowSize: 4 });
    s.l1.mineEmpty(4);
    expect(await s.derive()).toBe("idle");
    // The window of epoch 1000 has ended when 1004 is read; the epoch has all blocks before the time of 1001.
    expect(s.verifier.head).toMatchObject({ number: 5, l1Origin: { number: 1000 } });
    for (const { transactions } of s.verifier.payloads.slice(1)) expect(transactions.length).toBe(1);
    s.l1.mineEmpty(3);
    expect(await s.derive()).toBe("idle");
    expect(s.verifier.head.l1Origin.number).toBeGreaterThanOrEqual(1002);
    // Now too late for these blocks; the next ones that are in time are accepted.
    const s2 = s.verifier.head;
    while (s.sequencer.head.number < s2.number) await s.sequence({ transactions: [] });
    expect(s.agreesTo(s2.number)).toBe(true);
    await s.sequenceMany(3);
    post(s, s2.number + 1, s2.number + 3);
    expect(await s.derive()).toBe("idle");
    expect(s.agreesTo(s2.number + 3)).toBe(true);
  });

  it("stops at a reorganisation of L1, and derives again after a reset", async () => {
    const s = sim(forksUpTo(era));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    post(s, 1, number);
    s.l1.mine();
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
    s.l1.reorg(2);
    s.l1.mineEmpty(3);
    expect(await s.derive()).toBe("reset");
    expect(s.resets).toEqual(["l1-reorg"]);
    // Origins 1001 and 1002 are still there, so the blocks stay; a driver would go back further (sync start). What was posted is
    // lost.
    s.verifier.rewind(0);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    post(s, 1, number);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
  });

  it("ignores what is not a batcher's, and garbage", async () => {
    const s = sim(forksUpTo(era));
    s.l1.mineEmpty(1);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    const good = compress(s.batches("singular", 1, number));
    const data = encodeBatcherData(s.frames(good));
    const frame = (content: Uint8Array) => encodeBatcherData(s.frames(content));
    const other = new Uint8Array(32).fill(0x99);
    s.l1.mine({
      transactions: [
        s.l1.calldata(data, other),
        s.l1.calldata(data, BATCHER_KEY, new Uint8Array(20)),
        s.l1.calldata(data, BATCHER_KEY, "create"),
        s.l1.calldata(new Uint8Array()),
        s.l1.calldata(Uint8Array.of(0)),
        s.l1.calldata(Uint8Array.of(1, 2, 3)),
        s.l1.calldata(join([data, Uint8Array.of(0)])),
        s.l1.calldata(data.subarray(0, data.length - 1)),
        s.l1.calldata(frame(new Uint8Array())),
        s.l1.calldata(frame(Uint8Array.of(0x42, 1, 2))),
        s.l1.calldata(frame(Uint8Array.of(0x78, 0x00, 1, 2))),
        s.l1.calldata(frame(compress(Uint8Array.of(0x81, 0x05)))), // RLP that is not canonical
        s.l1.calldata(frame(compress(Uint8Array.of(0xc0)))), // a list
        s.l1.calldata(frame(compress(Uint8Array.of(0x80)))), // an empty batch
        s.l1.calldata(frame(compress(Uint8Array.of(0x82, 0x07, 0xc0)))), // an unknown type
        s.l1.calldata(frame(compress(Uint8Array.of(0x82, 0x00, 0xc0)))), // no fields
        s.l1.calldata(frame(compress(Uint8Array.of(0x82, 0x01, 0xc0)))), // no span
      ],
    });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    expect(s.events.filter((event) => event.startsWith("data-dropped"))).toEqual([
      "data-dropped empty",
      "data-dropped no-frames",
      "data-dropped unknown-version",
      "data-dropped frame-truncated",
      "data-dropped frame-truncated",
    ]);
    expect(s.events.filter((event) => /^channel \d+ (?:unknown-compression|read|malformed)\b/.test(event)).length).toBe(9);
    s.l1.mine({ transactions: [s.l1.calldata(data)] });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
  });

  it("keeps what came before a fault in a channel", async () => {
    const s = sim(forksUpTo(era));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    const whole = s.batches("singular", 1, number);
    const first = s.batches("singular", 1, 3);
    // The first three batches and a truncated one; a stream that ends early; a stream followed by junk.
    const cut = compress(whole.subarray(0, first.length + 20));
    postFrames(s, s.frames(cut));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 3);
    const open = compress(s.batches("singular", 4, 6), "flushed zlib");
    postFrames(s, s.frames(open));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 6);
    postFrames(s, s.frames(join([compress(s.batches("singular", 7, number)), new Uint8Array(50).fill(0xff)])));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
  });

  it("retries what a provider fails at, and loses nothing", async () => {
    const s = sim(forksUpTo(era));
    s.l1.mine({ logs: [depositLog(new Uint8Array(20), new Uint8Array(20), 1n)] });
    s.l1.mineEmpty(1);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    post(s, 1, 4);
    // Overlaps the first channel: checking a span that begins in the safe chain needs L2 blocks.
    post(s, 3, number, hasSpans(era) ? "span" : "singular");
    await s.reset();
    let failures = 0;
    for (const method of ["blockByNumber", "receipts", "transactions", "blockByHash"] as const) s.l1.failures[method] = 2;
    s.verifier.failures = 1;
    for (let round = 0; round < 100; round++) {
      try {
        expect(await s.derive()).toBe("idle");
        break;
      } catch (error) {
        if (!(error instanceof Error) || !error.message.endsWith("failed")) throw error;
        failures++;
        if (failures % 3 === 0) s.verifier.failures = 1;
      }
    }
    expect(Object.values(s.l1.failures)).toEqual([0, 0, 0, 0]);
    expect(failures).toBeGreaterThan(8);
    expectDerived(s, number);
  });

  it("goes on from a safe head in the middle", async () => {
    const s = sim(forksUpTo(era));
    s.l1.mineEmpty(3);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    post(s, 1, number);
    expect(await s.derive()).toBe("idle");
    for (const safe of [number, number - 1, 7, 1, 0]) {
      s.verifier.rewind(safe);
      await s.reset();
      expect(s.pipeline.origin!.number).toBe(1000);
      expect(await s.derive()).toBe("idle");
      expectDerived(s, number);
    }
  });
});

describe("L1 retrieval", () => {
  it("reads blobs from Ecotone on, by their place among all blobs of the block", async () => {
    const s = sim(forksUpTo("ecotone"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    const [first, second, third] = s
      .frames(compress(s.batches("singular", 1, number)), 3)
      .map((frame) => encodeBatcherData([frame]));
    const foreign = s.l1.blobTransaction([Uint8Array.of(1), Uint8Array.of(2)], new Uint8Array(32).fill(0x99));
    s.l1.mine({ transactions: [s.l1.blobTransaction([first!, second!]), foreign, s.l1.blobTransaction([third!])] });
    s.l1.failures.blobs = 1;
    await expect(s.derive()).rejects.toThrow("blobs failed");
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
  });

  it("ignores set-code transactions of the batcher", async () => {
    const s = sim(forksUpTo("jovian"));
    s.l1.mineEmpty(1);
    await s.sequenceMany(2);
    const data = encodeBatcherData(s.frames(compress(s.batches("singular", 1, 2))));
    const authorization = { chainId: 0n, address: INBOX, nonce: 0n, yParity: 0, r: 1n, s: 1n };
    const transaction: SetCodeTransaction = {
      type: 4,
      chainId: 900n,
      nonce: 0n,
      maxFeePerGas: 10n,
      maxPriorityFeePerGas: 1n,
      gasLimit: 100_000n,
      to: INBOX,
      value: 0n,
      data,
      accessList: [],
      authorizationList: [authorization],
    };
    s.l1.mine({ transactions: [signTransaction(transaction, BATCHER_KEY)] });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    s.l1.mine({ transactions: [s.l1.calldata(data)] });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 2);
  });

  it("takes the calldata of a blob transaction before Ecotone", async () => {
    const s = sim({ ...forksUpTo("delta"), ecotone: GENESIS_TIME + 10_000 });
    s.l1.mine({ transactions: [s.l1.blobTransaction([Uint8Array.of(1)])] });
    expect(await s.derive()).toBe("idle");
    expect(s.events).toContain("data calldata 0");
  });

  it("ignores a bad blob and takes the others", async () => {
    const s = sim(forksUpTo("ecotone"));
    s.l1.mineEmpty(1);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    const bad = new Uint8Array(BLOB_BYTES);
    bad[1] = 7;
    const good = s.l1.blobTransaction([encodeBatcherData(s.frames(compress(s.batches("singular", 1, number))))]);
    s.l1.mine({ transactions: [s.l1.rawBlobs([bad]), good] });
    expect(await s.derive()).toBe("idle");
    expect(s.events).toContain("data-dropped bad-blob");
    expectDerived(s, number);
  });

  it("resets when blobs are not available any more", async () => {
    const s = sim(forksUpTo("ecotone"));
    s.l1.mine({ transactions: [s.l1.blobTransaction([Uint8Array.of(1)])] });
    s.l1.areBlobsGone = true;
    expect(await s.derive()).toBe("reset");
    expect(s.resets).toEqual(["blobs-missing"]);
    await expect(s.pipeline.step(s.verifier.head)).rejects.toThrow("derivation/not-reset");
  });

  it("follows a change of the batcher: the block with the update already counts the new one", async () => {
    const s = sim(forksUpTo("ecotone"));
    s.l1.mineEmpty(1);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    const newKey = new Uint8Array(32).fill(0x42);
    const newBatcher = privateKeyToAddress(newKey);
    const data = (from: number, to: number) => encodeBatcherData(s.frames(compress(s.batches("singular", from, to))));
    s.l1.mine({
      logs: [configUpdateLog(0, newBatcher)],
      transactions: [s.l1.calldata(data(1, 2)), s.l1.calldata(data(1, 3), newKey)],
    });
    expect(await s.derive()).toBe("idle");
    expect(s.verdicts.length).toBeGreaterThan(0);
    expectDerived(s, 3);
    s.l1.mine({ transactions: [s.l1.calldata(data(4, number))] });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 3);
    s.l1.mine({ transactions: [s.l1.calldata(data(4, number), newKey)] });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
  });

  it("stops for good at a config update that cannot be", async () => {
    const s = sim(forksUpTo("ecotone"));
    s.l1.mine({ logs: [configUpdateLog(99, new Uint8Array(32))] });
    const failure = await s.derive().catch((error: unknown) => error);
    expect(isCodedError(failure, "derivation/bad-config-update")).toBe(true);
    expect(isCriticalDerivationError(failure)).toBe(true);
    expect(isCriticalDerivationError(new Error("timeout"))).toBe(false);
  });
});

describe("before Holocene", () => {
  it("takes frames in any order, and channels in the order of their first frames before Canyon", async () => {
    for (const [era, expected] of [
      ["regolith", 0],
      ["canyon", 3],
    ] as const) {
      const s = sim(forksUpTo(era));
      s.l1.mineEmpty(2);
      await s.sequenceToL1Head();
      const [a0, a1, a2] = s.frames(compress(s.batches("singular", 4, 6)), 3);
      const b = s.frames(compress(s.batches("singular", 1, 3)));
      postFrames(s, [a2!], b, [a0!]);
      expect(await s.derive()).toBe("idle");
      expectDerived(s, expected);
      postFrames(s, [a1!]);
      expect(await s.derive()).toBe("idle");
      expectDerived(s, 6);
    }
  });

  it("drops a channel that times out, and its later frames", async () => {
    const s = sim(forksUpTo("canyon"), { channelTimeoutL1Blocks: 3 });
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const frames = s.frames(compress(s.batches("singular", 1, 5)), 2);
    postFrames(s, frames.slice(0, 1));
    s.l1.mineEmpty(3);
    postFrames(s, frames.slice(1));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    expect(s.events).toContain("channel 1 timed-out");
    // Posted again exactly at the timeout, it is still in time.
    const again = s.frames(compress(s.batches("singular", 1, 5)), 2);
    postFrames(s, again.slice(0, 1));
    s.l1.mineEmpty(2);
    postFrames(s, again.slice(1));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 5);
  });

  it("keeps batches of the future until the chain gets there", async () => {
    const s = sim(forksUpTo("canyon"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    post(s, 4, 8);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    post(s, 1, 3);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 8);
  });

  it("drops a batch with a deposit, and takes the batches after it", async () => {
    const s = sim(forksUpTo("granite"));
    s.l1.mineEmpty(1);
    await s.sequenceMany(3);
    const deposit = s.sequencer.payloads[1]!.transactions[0]!;
    const bad = encodeChannelBatch({
      kind: "singular",
      parentHash: hexToBytes(s.sequencer.hashes[0]!),
      epochNumber: 1000n,
      epochHash: hexToBytes(s.config.rollup.genesis.l1.hash),
      timestamp: BigInt(GENESIS_TIME + 2),
      transactions: [deposit],
    });
    postFrames(s, s.frames(compress(join([bad, s.batches("singular", 1, 1)]))));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 1);
    expect(s.verdicts).toContain("singular drop deposit-transaction");
  });

  it("goes back to the last complete span when the engine refuses a block, and takes the next batch", async () => {
    const s = sim(forksUpTo("granite"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    post(s, 1, 3, "span");
    post(s, 4, 8, "span");
    let refused = 0;
    s.isInvalid = ({ parent }) => parent.number === 5 && refused++ === 0;
    expect(await s.derive()).toBe("idle");
    expect(refused).toBe(1);
    expectDerived(s, 3);
    post(s, 4, number, "span");
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
  });

  it("forgets the rest of a span of which the engine refused a block, also when the chain gets there by other batches", async () => {
    const s = sim(forksUpTo("granite"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    post(s, 1, 6, "span");
    let refused = 0;
    s.isInvalid = ({ parent }) => parent.number === 2 && refused++ === 0;
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    post(s, 1, 3, "singular");
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 3);
  });

  it("says which block ends a span", async () => {
    const s = sim(forksUpTo("granite"));
    s.l1.mineEmpty(1);
    await s.sequenceMany(4);
    post(s, 1, 3, "span");
    post(s, 4, 4, "singular");
    expect(await s.derive()).toBe("idle");
    expect(s.derived.map(({ isLastInSpan }) => isLastInSpan)).toEqual([false, false, true, true]);
    expect(s.derived.map(({ derivedFrom }) => derivedFrom.number)).toEqual([1002, 1002, 1002, 1003]);
  });
});

describe("Holocene", () => {
  it("drops frames out of order", async () => {
    const s = sim(forksUpTo("holocene"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const [f0, f1, f2] = s.frames(compress(s.batches("singular", 1, 5)), 3);
    postFrames(s, [f0!, f2!], [f2!], [f1!]);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    expect(s.events.filter((event) => event.startsWith("frame-dropped"))).toEqual([
      "frame-dropped 1:2 out-of-order",
      "frame-dropped 1:2 out-of-order",
    ]);
    postFrames(s, [f2!]);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 5);
  });

  it("replaces an unfinished channel by the next one's first frame", async () => {
    const s = sim(forksUpTo("holocene"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const a = s.frames(compress(s.batches("singular", 1, 5)), 2);
    const b = s.frames(compress(s.batches("singular", 1, 3)), 2);
    postFrames(s, a.slice(0, 1), b.slice(0, 1));
    postFrames(s, a.slice(1));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    expect(s.events).toContain("channel 1 replaced");
    expect(s.events).toContain("frame-dropped 1:1 wrong-channel");
    postFrames(s, b.slice(1));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 3);
  });

  it("discards a channel that times out", async () => {
    const s = sim(forksUpTo("holocene"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const frames = s.frames(compress(s.batches("singular", 1, 5)), 2);
    postFrames(s, frames.slice(0, 1));
    // Granite's timeout applies, not the configured one.
    s.l1.mineEmpty(50);
    postFrames(s, frames.slice(1));
    // The window of 20 L1 blocks has long ended, so there are empty blocks, but none of the channel's.
    expect(await s.derive()).toBe("idle");
    expect(s.events).toContain("channel 1 timed-out");
    expect(s.events).toContain("frame-dropped 1:1 no-channel");
  });

  it("gives up the channel at a batch that does not fit", async () => {
    const s = sim(forksUpTo("holocene"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    // A gap: batch 3 is missing.
    postFrames(s, s.frames(compress(join([s.batches("singular", 1, 2), s.batches("singular", 4, 6)]))));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 2);
    expect(s.verdicts).toEqual(["singular accept", "singular accept", "singular drop timestamp-in-future"]);
    expect(s.events).toContain("channel 1 flushed");
    post(s, 4, 6);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 2);
    post(s, 3, 6);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 6);
  });

  it("skips batches of the past", async () => {
    const s = sim(forksUpTo("holocene"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    post(s, 1, 4);
    post(s, 2, 6);
    post(s, 1, 5, "span");
    post(s, 3, 9, "span");
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 9);
    expect(s.verdicts.filter((verdict) => verdict.includes("past"))).toEqual([
      "singular past",
      "singular past",
      "singular past",
      "span past",
    ]);
    expect(s.verdicts.filter((verdict) => verdict.includes("drop"))).toEqual([]);
  });

  it("keeps the blocks of a span before the one that is wrong", async () => {
    const s = sim(forksUpTo("holocene"), { maxSequencerDriftSec: 600 });
    s.l1.mineEmpty(2);
    await s.sequenceMany(2);
    await s.sequence({ transactions: [hexToBytes("04c0")] });
    await s.sequenceMany(2);
    // The third block's transaction only starts with the byte of a set-code transaction, so the span cannot be built.
    expect(() => s.batches("span", 1, 5)).toThrow("span-batch/unsupported-transaction");
    post(s, 1, 5, "singular");
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 2);
    expect(s.verdicts.at(-1)).toBe("singular drop set-code-before-isthmus");
  });

  it("replaces a block that the engine refuses by its deposits, and forgets the rest of the channel", async () => {
    for (const type of ["singular", "span"] as const) {
      const s = sim(forksUpTo("holocene"));
      s.l1.mineEmpty(2);
      await s.sequenceToL1Head();
      post(s, 1, 8, type);
      s.isInvalid = ({ parent, attributes }) => parent.number === 3 && attributes.transactions!.length > 1;
      expect(await s.derive()).toBe("idle");
      expect(s.verifier.head.number).toBe(4);
      expect(s.agreesTo(3)).toBe(true);
      expect(s.agreesTo(4)).toBe(false);
      const [refused, replaced] = s.derived.slice(-2);
      expect(refused!.attributes.transactions!.length).toBe(2);
      expect(replaced!.attributes).toEqual({ ...refused!.attributes, transactions: refused!.attributes.transactions!.slice(0, 1) });
      expect(replaced!.isLastInSpan).toBe(true);
      expect(s.events).toContain("channel 1 flushed");
      // Deposits alone cannot be invalid.
      expect(() => s.pipeline.depositsOnly(replaced!)).toThrow("derivation/already-deposits-only");
    }
  });

  it("compares the part of a span that is in the safe chain, unless told not to", async () => {
    for (const checkSpanOverlapInStrictOrder of [true, false]) {
      const s = sim(forksUpTo("holocene"), { checkSpanOverlapInStrictOrder });
      s.l1.mineEmpty(2);
      await s.sequenceMany(3);
      post(s, 1, 3);
      expect(await s.derive()).toBe("idle");
      expectDerived(s, 3);
      // Another chain from block 1 on, in a span that begins at block 2: its parent is in the safe chain, its block 2 is not.
      const original = s.sequencer.hashes;
      s.sequencer.rewind(1);
      await s.sequenceMany(4);
      expect(s.sequencer.hashes[2]).not.toBe(original[2]);
      post(s, 2, 5, "span");
      expect(await s.derive()).toBe("idle");
      expect(s.verdicts.at(-1)).toBe(checkSpanOverlapInStrictOrder ? "span drop span-overlap-mismatch" : "singular-of-span accept");
      expect(s.verifier.head.number).toBe(checkSpanOverlapInStrictOrder ? 3 : 5);
    }
  });

  it("forgets frames and channels when it begins, and keeps the L1 blocks", async () => {
    // Active from L1 block 1004 on.
    const s = sim({ ...forksUpTo("granite"), holocene: GENESIS_TIME + 4 * 12 });
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const frames = s.frames(compress(s.batches("singular", 1, 5)), 2);
    postFrames(s, frames.slice(0, 1));
    postFrames(s, frames.slice(1));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    expect(s.events).toContain("frame-dropped 1:1 no-channel");
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    post(s, 1, number);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
    expect(s.verifier.head.l1Origin.number).toBe(1004);
  });
});

describe("attributes", () => {
  it("have zeros as EIP-1559 parameters in Holocene's activation block, then those of the parent, then those of an update", async () => {
    const at = (blocks: number) => GENESIS_TIME + 2 * blocks;
    // Upgrades deploy published code; the first fork after Delta that needs none is Holocene.
    const h = sim({ ...forksUpTo("granite"), holocene: at(3) });
    h.l1.mine({ logs: [configUpdateLog(4, hexToBytes("000000c800000004"))] });
    h.l1.mineEmpty(1);
    await h.sequenceToL1Head();
    post(h, 1, h.sequencer.head.number);
    expect(await h.derive()).toBe("idle");
    expectDerived(h, h.sequencer.head.number);
    const params = h.derived.map(({ attributes }) => attributes.eip1559Params && bytesToHex(attributes.eip1559Params));
    expect(params.slice(0, 7)).toEqual([
      undefined,
      undefined,
      "0x0000000000000000", // the activation block
      "0x000000fa00000006", // the chain's constants, as the engine wrote them
      "0x000000fa00000006",
      "0x000000c800000004", // the update of origin 1001
      "0x000000c800000004",
    ]);
  });

  it("of Jovian carry the minimum base fee and the DA footprint scalar", async () => {
    const s = sim(forksUpTo("jovian"));
    s.l1.mine({ logs: [configUpdateLog(6, hexToBytes("3b9aca00")), configUpdateLog(7, hexToBytes("0123"))] });
    s.l1.mineEmpty(1);
    await s.sequenceToL1Head();
    post(s, 1, s.sequencer.head.number, "span", "brotli");
    expect(await s.derive()).toBe("idle");
    expectDerived(s, s.sequencer.head.number);
    expect(s.derived.map(({ attributes }) => attributes.minBaseFee).slice(4, 8)).toEqual([
      0n,
      1_000_000_000n,
      1_000_000_000n,
      1_000_000_000n,
    ]);
    const infos = s.derived.map(({ attributes }) => decodeL1BlockInfo(depositCalldata(attributes.transactions![0]!)));
    expect(infos.map(({ daFootprintGasScalar }) => daFootprintGasScalar).slice(4, 8)).toEqual([400, 0x123, 0x123, 0x123]);
  });

  it("need the published code in an upgrade's activation block, and say so", async () => {
    const s = sim({ ...forksUpTo("delta"), ecotone: GENESIS_TIME + 4 });
    s.l1.mineEmpty(30);
    const failure = await s.derive().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "upgrade/missing-artifact", data: { file: "ecotone-l1-block-deployment.txt" } });
    expect(isCriticalDerivationError(failure)).toBe(true);
    expect(s.verifier.head.number).toBe(1);
  });
});

describe("sequencer drift", () => {
  it("allows only empty blocks beyond it", async () => {
    const s = sim(forksUpTo("ecotone"), { maxSequencerDriftSec: 6 });
    s.l1.mine({ timestamp: GENESIS_TIME + 100 });
    for (let i = 0; i < 5; i++) await s.sequence({ transactions: i < 3 ? [s.userTransaction()] : [] });
    await s.sequence({ transactions: [s.userTransaction()] });
    post(s, 1, 6);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 5);
    expect(s.verdicts).toContain("singular drop exceeds-sequencer-drift");
  });

  it("is 1800 s from Fjord on", async () => {
    const s = sim(forksUpTo("fjord"), { maxSequencerDriftSec: 6 });
    s.l1.mine({ timestamp: GENESIS_TIME + 100 });
    await s.sequenceMany(8);
    post(s, 1, 8);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 8);
  });
});

it("refuses alternative data availability", () => {
  const s = sim(forksUpTo("fjord"));
  const altDa = {
    daChallengeContractAddress: INBOX,
    daCommitmentType: "KeccakCommitment" as const,
    daChallengeWindow: 1,
    daResolveWindow: 1,
  };
  const config = { ...s.config, rollup: { ...s.config.rollup, altDa } };
  const providers = { l1: s.l1, blobs: s.l1, l2: s.verifier, decompressor };
  return import("./pipeline.ts").then(({ createDerivationPipeline }) => {
    expect(() => createDerivationPipeline(config, providers)).toThrow("derivation/alt-da-not-supported");
  });
});
