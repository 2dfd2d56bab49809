import { bytesToHex, hexToBytes, isCriticalError } from "@rnode/primitives";
import { decodeL1BlockInfo, depositCalldata, encodeBatcherData } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { type Compression, compress, decompressor, expectDerived, post, postFrames, sim } from "./testing/pipeline-steps.ts";
import { forksUpTo, GENESIS_TIME, join } from "./testing/sim.ts";
import { BATCHER_KEY, configUpdateLog, depositLog, INBOX } from "./testing/sim-l1.ts";

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
    // Origins 1001 and 1002 still exist, so the blocks are kept; a driver would rewind further (sync start). The posted data is
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
    expect(isCriticalError(failure)).toBe(true);
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

it("wants a DA server where the data is not on L1", () => {
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
    expect(() => createDerivationPipeline(config, providers)).toThrow(
      expect.objectContaining({ code: "derivation/da-server-missing" }),
    );
  });
});
