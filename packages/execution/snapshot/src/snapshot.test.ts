import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openChain, PreparedBlock } from "@rnode/chain";
import { type DevChain, forkchoice, produce, rewind } from "@rnode/chain/testing";
import { type FlakyOptions, type FlakyServer, startFlakyServer } from "@rnode/download/testing";
import { bytesToHex, concatBytes, keccak256 } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { outputRoot, PREDEPLOYS, type Receipt } from "@rnode/protocol";
import { type ChainDatabase, openChainStore, type StateRow } from "@rnode/storage";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { downloadSnapshot } from "./download/download-snapshot.ts";
import { encodeBlockRecords } from "./format/block-records.ts";
import { ChecksumChain, encodeFrameHeader, fileStart } from "./format/frames.ts";
import { encodeTotals, parseTotals } from "./format/manifest.ts";
import { type LoadedSnapshot, loadSnapshot, type SnapshotExpectation } from "./read/load-snapshot.ts";
import { SnapshotFile } from "./read/snapshot-file.ts";
import { restoreSnapshot } from "./restore/restore-snapshot.ts";
import { type FrameContent, fileOf, framesOf } from "./testing/edit-frames.ts";
import { CONFIG, DOOMED, openSnapshotChain, produceChanges, snapshotOf } from "./testing/snapshot-chain.ts";

const root = mkdtempSync(join(tmpdir(), "rnode-snapshot-"));
let count = 0;
const newPath = (): string => join(root, `file-${count++}`);
let dev: DevChain;
let snapshot: Uint8Array;
const BLOCKS = 9;
/** at which the contract is destroyed */
const DESTROYED_AT = 6;

beforeAll(async () => {
  dev = openSnapshotChain();
  for (let number = 1; number <= BLOCKS; number++) produceChanges(dev, number === DESTROYED_AT);
  snapshot = (await snapshotOf(dev, { blockNumber: 4, blocks: 256 })).bytes;
});
afterAll(async () => {
  await dev.remove();
});

function fileWith(bytes: Uint8Array, path = newPath()): string {
  writeFileSync(path, bytes);
  return path;
}
const load = (bytes: Uint8Array, expected: Partial<SnapshotExpectation> = {}): Promise<LoadedSnapshot> =>
  loadSnapshot(fileWith(bytes, join(root, "loaded")), { config: CONFIG, ...expected });
function errorOfFrames(bytes: Uint8Array): unknown {
  try {
    for (const _ of SnapshotFile.ofBytes(bytes).frames());
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Before Canyon, nothing proves the nonce of a deposit. */
const provable = (receipts: readonly Receipt[] | undefined) =>
  receipts?.map((receipt) => ({ ...receipt, depositNonce: undefined }));

const rowsOf = (store: ChainDatabase, number: number): StateRow[] => [
  ...store.stateRows({ number, hash: bytesToHex(store.readCanonicalHash(number)!) }),
];

describe("a snapshot", () => {
  it.each([1, DESTROYED_AT - 1, DESTROYED_AT, BLOCKS])(
    "of block %i is restored to its state, from which the chain goes on",
    async (number) => {
      const { bytes, made } = await snapshotOf(dev, { blockNumber: number });
      const loaded = await load(bytes);
      const folder = newPath();
      const store = openChainStore(folder, { sync: "interval" });
      try {
        expect(restoreSnapshot(store, loaded)).toBe(false);
        const { accounts, slots, codes, blocks } = made;
        expect(loaded.totals).toEqual({ accounts, slots, codes, blocks });
        expect(loaded.checksum).toEqual(made.checksum);
        expect(store.head()).toEqual(made.block);
        const expected = rowsOf(dev.store, number);
        expect(rowsOf(store, number)).toEqual(expected);
        const doomed = bytesToHex(keccak256(DOOMED));
        expect(expected.some(({ hash }) => bytesToHex(hash) === doomed)).toBe(number < DESTROYED_AT);
        expect(store.verifyState().problems).toEqual([]);
        for (let at = 1; at <= number; at++) {
          const hash = dev.store.readCanonicalHash(at)!;
          expect([store.readBlock(hash), provable(store.readReceipts(hash)), store.readSenders(hash)]).toEqual([
            dev.store.readBlock(hash),
            provable(dev.store.readReceipts(hash)),
            dev.store.readSenders(hash),
          ]);
        }
        const chain = openChain({ store, config: CONFIG, nowMs: () => 0 });
        for (let at = number + 1; at <= BLOCKS; at++) {
          const block = dev.store.readBlock(dev.store.readCanonicalHash(at)!)!;
          expect(chain.newPayload(new PreparedBlock(block)).status).toBe("VALID");
          chain.forkchoiceUpdated(forkchoice(dev.store.readCanonicalHash(at)!), undefined, 3);
        }
        expect(chain.head()).toEqual(dev.chain.head());
        expect(rowsOf(store, BLOCKS)).toEqual(rowsOf(dev.store, BLOCKS));
        expect(chain.stateAt({ number: number - 1, hash: bytesToHex(dev.store.readCanonicalHash(number - 1)!) })).toBeUndefined();
      } finally {
        loaded.close();
        await store.close();
      }
    },
  );

  it("is the same whenever it is made, also while blocks are made and destroy what it holds", async () => {
    const live = openSnapshotChain();
    try {
      for (let number = 1; number <= 4; number++) produceChanges(live);
      let writes = 0;
      const { bytes } = await snapshotOf(live, { blockNumber: 4 }, () => {
        if (writes++ % 3 === 0) produceChanges(live, writes === 4);
      });
      expect(live.chain.head().number).toBeGreaterThan(8);
      expect(bytesToHex(bytes)).toBe(bytesToHex(snapshot));
    } finally {
      await live.remove();
    }
  });

  it("of a block that leaves the chain meanwhile is given up", async () => {
    const live = openSnapshotChain();
    try {
      for (let number = 1; number <= 4; number++) produceChanges(live);
      let writes = 0;
      const making = snapshotOf(live, { blockNumber: 4 }, () => {
        if (writes++ !== 5) return;
        rewind(live, 2);
        produce(live, 77);
        produce(live, 78);
      });
      await expect(making).rejects.toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^snapshot\/no-such-state|^storage\/state-gone/) }),
      );
    } finally {
      await live.remove();
    }
  });

  it("is of the finalized block unless another is named, and of none without state, or that is the genesis", async () => {
    dev.store.writeLabels({ finalized: { number: 3, hash: bytesToHex(dev.store.readCanonicalHash(3)!) } });
    expect((await snapshotOf(dev)).made.block.number).toBe(3);
    const code = "snapshot/no-such-state";
    for (const blockNumber of [0, BLOCKS + 1]) await expect(snapshotOf(dev, { blockNumber })).rejects.toMatchObject({ code });
    const folder = newPath();
    const store = openChainStore(folder, { sync: "interval" });
    const loaded = await load(snapshot);
    restoreSnapshot(store, loaded);
    loaded.close();
    const restored = { ...dev, store };
    await expect(snapshotOf(restored, { blockNumber: 3 })).rejects.toThrow(/no longer there: that of block 4 is the oldest one/);
    expect(bytesToHex((await snapshotOf(restored)).bytes)).toBe(bytesToHex(snapshot)); // a copy of a copy
    await store.close();
  });
});

describe("a damaged snapshot", () => {
  it("is refused at every byte that is altered, and at every length", { tags: "long" }, async () => {
    // A small one, so that every byte gets its turn.
    const small = openSnapshotChain(2, 4);
    produceChanges(small);
    const { bytes } = await snapshotOf(small, { frameBytes: 700 });
    await small.remove();
    expect(framesOf(bytes).length).toBeGreaterThan(5);
    const random = createRandom(1);
    // Frames are mostly read by themselves, which takes no time: nothing of one is used before its checksum has been compared.
    const refuses = async (altered: Uint8Array, what: string, readsAll: boolean): Promise<void> => {
      const error = readsAll ? await load(altered).catch((reason: unknown) => reason) : errorOfFrames(altered);
      const { code } = error as { code?: string };
      if (!/^snapshot\/(damaged|no-snapshot|(older|newer)-format)$/.test(code ?? "")) expect(error, what).toBeUndefined();
    };
    for (let at = 0; at < bytes.length; at++) {
      const altered = bytes.slice();
      altered[at]! ^= 1 << random(8);
      await refuses(altered, `byte ${at}`, at % 64 === 0);
      await refuses(bytes.subarray(0, at), `length ${at}`, at % 128 === 0);
    }
    await expect(load(Uint8Array.of(...bytes, 0))).rejects.toThrow(/something follows its end/);
    (await load(bytes)).close();
  });

  it.each([
    [1, "older"],
    [3, "newer"],
  ])("of format %i is refused as that of an %s version", async (format, age) => {
    await expect(load(snapshot.with(11, format))).rejects.toMatchObject({
      code: `snapshot/${age}-format`,
      data: { format, supported: 2 },
    });
  });

  const rejectsFalse = async (frames: readonly FrameContent[], words: RegExp): Promise<void> => {
    const rejection = load(await fileOf(frames));
    await expect(rejection).rejects.toMatchObject({ code: "snapshot/false-content", message: expect.stringMatching(words) });
  };
  const edited = (kind: string, edit: (content: Uint8Array) => Uint8Array, which = 0): FrameContent[] => {
    const frames = framesOf(snapshot);
    const index = frames.findIndex((frame) => frame.kind === kind) + which;
    return frames.map((frame, at) => (at === index ? { ...frame, content: edit(frame.content) } : frame));
  };

  it("whose checksums were made to fit is refused for what is wrong in it", async () => {
    const frames = framesOf(snapshot);
    const first = frames.findIndex(({ kind }) => kind === "state");
    const blocks = frames.filter(({ kind }) => kind === "blocks");
    await rejectsFalse(
      frames.filter((_, at) => at !== first + 1),
      /not in order|state root|should have|is missing/,
    );
    await rejectsFalse(
      [...frames.slice(0, first), frames[first + 1]!, frames[first]!, ...frames.slice(first + 2)],
      /not in order|belongs to no account|is missing/,
    );
    await rejectsFalse(
      frames.filter((frame) => frame !== blocks.at(-1)),
      /its blocks do not end with/,
    );
    await rejectsFalse([frames[0]!, ...frames.slice(2)], /block \d+ stands where block 1 should|do not end with/);
    await rejectsFalse([...frames.slice(1)], /its manifest does not come first/);
    await rejectsFalse([frames[0]!, ...frames], /two manifests/);
    await rejectsFalse([frames[0]!, frames.at(-1)!], /lacks its manifest or its state/);
    await rejectsFalse([...frames.slice(0, -1), blocks[0]!, frames.at(-1)!], /blocks come after the state/);
    const totals = parseTotals(frames.at(-1)!.content);
    await rejectsFalse(
      edited("end", () => encodeTotals({ ...totals, slots: totals.slots + 1 })),
      /should have \d+ slots, but has/,
    );
    await rejectsFalse(
      edited("blocks", () => encodeBlockRecords([Uint8Array.of(0xc0)])),
      /a block cannot be decoded/,
    );
    await rejectsFalse(
      edited("manifest", () => Buffer.from("{")),
      /its manifest cannot be read/,
    );
    const json = JSON.parse(Buffer.from(frames[0]!.content).toString()) as Record<string, unknown>;
    const manifestWith = (change: object) => edited("manifest", () => Buffer.from(JSON.stringify({ ...json, ...change })));
    await rejectsFalse(manifestWith({ hash: `0x${"12".repeat(32)}` }), /its hash is given as/);
    await rejectsFalse(manifestWith({ oldestBlock: 9 }), /not in order/);
  });

  it("is refused whatever byte of its state or its blocks was altered before the checksums were made", {
    tags: "long",
  }, async () => {
    const frames = framesOf(snapshot);
    const random = createRandom(7);
    for (let round = 0; round < 60; round++) {
      const kind = round % 3 === 0 ? "blocks" : "state";
      const which = random(frames.filter((frame) => frame.kind === kind).length);
      const forged = edited(
        kind,
        (content) => {
          const altered = content.slice();
          altered[random(altered.length)]! ^= 1 << random(8);
          return altered;
        },
        which,
      );
      await expect(load(await fileOf(forged)), `round ${round}`).rejects.toMatchObject({ code: "snapshot/false-content" });
    }
  });

  it("of another chain or block than was named is refused by its first frame", async () => {
    const hash = dev.store.readCanonicalHash(4)!;
    const header = dev.store.readHeader(hash)!;
    const { storageRoot } = dev.store.stateAt(4)!.readAccount(PREDEPLOYS.l2ToL1MessagePasser)!;
    const output = outputRoot({ stateRoot: header.stateRoot, messagePasserStorageRoot: storageRoot, blockHash: hash });
    (await load(snapshot, { blockHash: hash, genesisHash: dev.chain.genesis.hash, outputRoot: output })).close();
    const other = new Uint8Array(32);
    const refuse = (expected: Partial<SnapshotExpectation>, code: string) =>
      expect(load(snapshot, expected)).rejects.toMatchObject({ code });
    await refuse({ blockHash: other }, "snapshot/other-block");
    await refuse({ outputRoot: other }, "snapshot/other-block");
    await refuse({ genesisHash: other }, "snapshot/other-chain");
    await refuse({ config: { ...CONFIG, chainId: 1n } }, "snapshot/other-chain");
  });
});

describe("a download", () => {
  let server: FlakyServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });
  const QUICK = { firstWaitMs: 1, idleMs: 300, maxFailures: 4 };
  const answering = (answer: (response: ServerResponse) => void) => (_: number, response: ServerResponse) => {
    answer(response);
    return true;
  };
  const serve = async (options: FlakyOptions, file = snapshot): Promise<string> => {
    server = await startFlakyServer(() => file, options);
    return server.url;
  };
  const same = (path: string): void => expect(readFileSync(path).equals(snapshot)).toBe(true);

  it("goes on where connections broke, wherever that was", async () => {
    const random = createRandom(3);
    const path = newPath();
    const url = await serve({ breaksAfter: () => 300 + random(1500) });
    expect(await downloadSnapshot(url, path, { ...QUICK, maxFailures: 40 })).toBe(false);
    same(path);
    expect(server!.ranges.length).toBeGreaterThan(3);
    expect(new Set(server!.ranges).size).toBeGreaterThan(3);
  });

  it("needs no Range of the server, and reads nothing of a file that is there", async () => {
    const path = newPath();
    const url = await serve({ knowsRanges: false, breaksAfter: (request) => (request < 2 ? 3000 * (request + 1) : undefined) });
    await downloadSnapshot(url, path, QUICK);
    same(path);
    const asked = server!.ranges.length;
    expect(await downloadSnapshot(url, path, QUICK)).toBe(true);
    expect(server!.ranges.length).toBe(asked);
  });

  it("goes on after a kill at any length, and after bytes that were altered on the way or on the disk", async () => {
    const url = await serve({ alter: (bytes, request) => (request % 2 === 0 ? bytes.fill(7, 900, 901) : bytes) });
    const random = createRandom(5);
    for (let round = 0; round < 12; round++) {
      const path = newPath();
      const left = snapshot.slice(0, random(snapshot.length));
      if (round % 3 === 0) left.fill(9, random(left.length));
      writeFileSync(path, left);
      await downloadSnapshot(url, path, QUICK);
      same(path);
    }
  });

  it("begins anew where what was there is of another file", async () => {
    const path = newPath();
    const { bytes } = await snapshotOf(dev, { blockNumber: 5 });
    writeFileSync(path, bytes.slice(0, bytes.length / 2));
    expect(await downloadSnapshot(await serve({}), path, QUICK)).toBe(false);
    same(path);
  });

  it.each<[string, FlakyOptions, RegExp]>([
    [
      "is not there",
      {
        answer: answering((response) => {
          response.writeHead(404).end();
        }),
      },
      /HTTP status 404$/,
    ],
    [
      "never comes",
      {
        answer: answering((response) => {
          response.writeHead(503).end();
        }),
      },
      /HTTP status 503, 5 times in a row/,
    ],
    ["hangs", { answer: () => true }, /nothing came for 300 ms, 5 times in a row/],
    [
      "is larger than allowed",
      {
        answer: answering((response) => {
          response.writeHead(200, { "content-length": 10 ** 9 });
          response.write("x");
        }),
      },
      /it has (at least )?1000000000 bytes, allowed are 1000000/,
    ],
    [
      "never ends",
      {
        answer: answering((response) => {
          response.writeHead(200);
          response.write(new Uint8Array(1_100_000));
        }),
      },
      /no snapshot file/,
    ],
    [
      "is replaced meanwhile",
      { etag: (request) => `"${request}"`, breaksAfter: () => 2000 },
      /the file was replaced during the download/,
    ],
    [
      "is damaged at its origin",
      { alter: (bytes, _, from) => (from <= 4000 ? bytes.fill(1, 4000 - from, 4010 - from) : bytes) },
      /damaged at byte \d+/,
    ],
  ])("of a file that %s fails with its reason", async (_, options, words) => {
    const path = newPath();
    const url = await serve(options);
    await expect(downloadSnapshot(url, path, { ...QUICK, maxBytes: 1_000_000 })).rejects.toThrow(words);
  });

  /** Sends complete frames with valid checksums forever, at full speed. @param length the stated size */
  const endless = (length?: number): FlakyOptions => ({
    answer: answering((response) => {
      response.writeHead(200, length === undefined ? {} : { "content-length": length });
      const chain = new ChecksumChain();
      const start = framesOf(snapshot).slice(0, 1);
      const block = framesOf(snapshot).find(({ kind }) => kind === "state")!;
      const frame = ({ kind, content }: FrameContent): Uint8Array =>
        concatBytes(encodeFrameHeader(kind, content, content.length, chain), content);
      response.write(concatBytes(fileStart(), ...start.map(({ content }) => frame({ kind: "state", content }))));
      const more = (): void => {
        for (let count = 0; count < 20; count++) {
          const junk = { kind: "state", content: concatBytes(...Array.from({ length: 50 }, () => block.content)) } as const;
          if (!response.write(frame(junk))) break;
        }
        if (!response.destroyed) setTimeout(more, 1);
      };
      more();
    }),
  });

  it.each<[string, FlakyOptions, { maxBytes?: number; expected?: SnapshotExpectation }, RegExp]>([
    ["says no size", endless(), {}, /the server does not say its size: allow a size with --max-size$/],
    ["says no size and never ends", endless(), { maxBytes: 1_000_000 }, /it has at least \d+ bytes, allowed are 1000000/],
    ["promises more than the disk has", endless(2 ** 50), {}, /it has 1125899906842624 bytes, allowed are \d+/],
    ["sends something other than it promises", endless(500_000), {}, /damaged at byte \d+: the file ends here/],
    ["does not begin with a manifest", endless(10_000_000), { expected: { config: CONFIG } }, /its manifest does not come first/],
  ])("of a server that %s ends within what was promised", async (_, options, limits, words) => {
    const path = newPath();
    const url = await serve(options);
    await expect(downloadSnapshot(url, path, { ...QUICK, reserveBytes: 1, ...limits })).rejects.toThrow(words);
    expect(statSync(path).size).toBeLessThanOrEqual(limits.maxBytes ?? 500_000);
  });

  it("and its check leave the reserve of the disk alone", async () => {
    const path = newPath();
    const reserveBytes = 2 ** 50;
    await expect(downloadSnapshot(await serve({}), path, { ...QUICK, reserveBytes })).rejects.toMatchObject({
      code: "download/too-large",
    });
    writeFileSync(path, snapshot);
    const options = { folder: root, reserveBytes };
    await expect(loadSnapshot(path, { config: CONFIG }, options)).rejects.toMatchObject({ code: "snapshot/no-room" });
  });

  it("of blocks that are not those of the chain is given up before the state comes", async () => {
    const frames = framesOf(snapshot);
    const blocks = frames.findIndex(({ kind }) => kind === "blocks");
    frames[blocks] = { kind: "blocks", content: encodeBlockRecords([]) };
    const bytes = await fileOf(frames);
    const path = newPath();
    const url = await serve({ alter: () => bytes });
    const expected = { config: CONFIG };
    await expect(downloadSnapshot(url, path, { ...QUICK, expected })).rejects.toThrow(/block \d+ stands where block 1 should/);
  });

  it("of the wrong block is given up with the first frame", async () => {
    const path = newPath();
    const expected = { config: CONFIG, blockHash: new Uint8Array(32) };
    await expect(downloadSnapshot(await serve({}), path, { ...QUICK, expected })).rejects.toThrow("of another block");
    expect(existsSync(path) && readFileSync(path).length).toBeLessThan(snapshot.length / 2);
  });
});
