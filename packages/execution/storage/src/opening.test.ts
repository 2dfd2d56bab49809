import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asciiToBytes, type CodedError, EMPTY_KECCAK, EMPTY_TRIE_ROOT, isCodedError, keccak256 } from "@rnode/primitives";
import { hashHeader } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { updateStateTrie } from "@rnode/trie";
import { open } from "lmdb";
import { beforeEach, describe, expect, it } from "vitest";
import type { BlockCommit, ChainDatabase } from "./api.ts";
import { takeAway } from "./database/writer-lock.ts";
import { storageAdvice } from "./errors.ts";
import { openChainStore } from "./lmdb-chain-store.ts";
import { openRawTables } from "./testing/raw-tables.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-opening-"));
});

const ADDRESS = new Uint8Array(20).fill(7);
/** in every block, so that the trie has a branch */
const OTHER = new Uint8Array(20).fill(8);

/** A child of `parent` in which ADDRESS has `balance`. */
function makeBlock(store: ChainDatabase, balance: bigint): BlockCommit {
  const head = store.head();
  const number = head === undefined ? 0 : head.number + 1;
  const parentHash = head === undefined ? new Uint8Array(32) : store.readCanonicalHash(head.number)!;
  const parentRoot = head === undefined ? EMPTY_TRIE_ROOT : store.readHeader(parentHash)!.stateRoot;
  const account = { nonce: 0n, balance, codeHash: EMPTY_KECCAK };
  const addresses = head === undefined ? [ADDRESS, OTHER] : [ADDRESS];
  const changes = {
    accounts: addresses.map((address) => ({ address, before: undefined, after: account, storageCleared: false, storage: [] })),
    codes: [],
  };
  const nodes = head === undefined ? { readNode: () => undefined } : store.trieNodesAt(head.number)!;
  const update = updateStateTrie(nodes, parentRoot, changes.accounts, () => undefined);
  const header = headerOf({ parentHash, stateRoot: update.stateRoot, difficulty: 2n, number });
  const block = { header, transactions: [], ommers: [] };
  return {
    block,
    hash: hashHeader(header),
    receipts: [],
    senders: [],
    changes,
    storageRoots: update.storageRoots,
    nodes: update.nodes,
  };
}

function errorOf(action: () => unknown): CodedError {
  try {
    action();
  } catch (error) {
    if (isCodedError(error)) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

async function withStore<T>(use: (store: ChainDatabase) => T, options = {}): Promise<T> {
  const store = openChainStore(folder, { sync: "interval", ...options });
  try {
    return use(store);
  } finally {
    await store.close();
  }
}

async function writeChain(length: number): Promise<void> {
  await withStore((store) => {
    store.writeGenesis(makeBlock(store, 1n));
    for (let i = 1; i < length; i++) store.commitBlock(makeBlock(store, BigInt(i + 1)));
  });
}

describe("a second writer", () => {
  it("is refused in the same process, naming folder and pid", async () => {
    await withStore(() => {
      expect(errorOf(() => openChainStore(folder))).toMatchObject({ code: "storage/locked", data: { folder, pid: process.pid } });
    });
    await withStore((store) => expect(store.head()).toBeUndefined());
  });

  it("is refused while another process lives", async () => {
    await writeChain(1);
    writeFileSync(join(folder, "writer.lock"), `${process.ppid} \n`);
    expect(errorOf(() => openChainStore(folder))).toMatchObject({ code: "storage/locked", data: { pid: process.ppid } });
    expect(existsSync(join(folder, "writer.lock"))).toBe(true);
  });

  it.each([
    ["a dead process", () => `${spawnSync(process.execPath, ["-e", ""]).pid} \n`],
    ["a process whose pid is in use again", () => `${process.ppid} 0000-of-another-boot:1\n`],
    ["an earlier process with our own pid", () => `${process.pid} \n`],
    ["a process that died while writing the lock", () => ""],
  ])("takes the lock over from %s", async (_name, content) => {
    await writeChain(2);
    writeFileSync(join(folder, "writer.lock"), content());
    expect(await withStore((store) => store.head()?.number)).toBe(1);
    expect(existsSync(join(folder, "writer.lock"))).toBe(false);
  });

  it("leaves the lock of a process that took the stale one over first", () => {
    const file = join(folder, "writer.lock");
    const own = `${process.ppid} \n`;
    writeFileSync(file, own);
    takeAway(file, "999999999 \n");
    expect(readFileSync(file, "utf8")).toBe(own);
    takeAway(file, own);
    expect(readdirSync(folder)).toEqual([]);
    takeAway(file, own); // another process was faster
  });
});

describe("what is not our database", () => {
  it.each([
    ["garbage", () => writeFileSync(join(folder, "data.mdb"), new Uint8Array(50_000).fill(9)), "storage/corrupted"],
    ["a text file", () => writeFileSync(join(folder, "data.mdb"), "hello"), "storage/corrupted"],
    [
      "a damaged header",
      () => writeFileSync(join(folder, "data.mdb"), readFileSync(join(folder, "data.mdb")).fill(0, 0, 8192)),
      "storage/corrupted",
    ],
    ["a file cut to its header", () => truncateSync(join(folder, "data.mdb"), 8192), "storage/corrupted"],
    ["a file cut short", () => truncateSync(join(folder, "data.mdb"), 40_960), "storage/corrupted"],
    [
      "a file with garbage in its middle",
      () => writeFileSync(join(folder, "data.mdb"), readFileSync(join(folder, "data.mdb")).fill(0x5a, 8192, 65_536)),
      "storage/corrupted",
    ],
  ])("%s is refused", async (_name, damage, code) => {
    await writeChain(20);
    damage();
    const attempt = (): void => {
      const store = openChainStore(folder);
      store.verifyState();
    };
    expect(errorOf(attempt)).toMatchObject({ code, data: { folder } });
  });

  it("a row that is not what was written is an error that names folder and block", async () => {
    await writeChain(4);
    const root = open<Uint8Array, Uint8Array>({
      path: folder,
      noSubdir: false,
      encoding: "binary",
      keyEncoding: "binary",
      maxDbs: 40,
    });
    const key = Uint8Array.of(0, 0, 0, 0, 0, 2);
    for (const name of ["headers", "bodies", "receipts"]) {
      root
        .openDB<Uint8Array, Uint8Array>({ name, encoding: "binary", keyEncoding: "binary" })
        .putSync(key, Uint8Array.of(0xc2, 0x80));
    }
    await root.close();
    await withStore((store) => {
      const hash = store.readCanonicalHash(2)!;
      for (const read of [() => store.readHeader(hash), () => store.readBlock(hash), () => store.readReceipts(hash)]) {
        expect(errorOf(read)).toMatchObject({ code: "storage/corrupted", data: { folder, row: "block 2" } });
      }
      expect(store.readBlock(store.readCanonicalHash(3)!)?.header.number).toBe(3);
    });
  });

  it("another program's LMDB database is refused and left alone", async () => {
    const other = open<Uint8Array, Uint8Array>({ path: folder, noSubdir: false, encoding: "binary", keyEncoding: "binary" });
    other.openDB({ name: "accounts", encoding: "binary" }).putSync(asciiToBytes("a"), Uint8Array.of(1));
    await other.close();
    expect(errorOf(() => openChainStore(folder))).toMatchObject({ code: "storage/foreign-database", data: { folder } });
  });

  it.each([
    ...[0, 1, 2, 3, 4, 5, 6, 7].map(
      (format) => [format, "storage/older-format", "remove the folder or give another --datadir"] as const,
    ),
    ...[9, 10, 255].map((format) => [format, "storage/newer-format", "use the later version"] as const),
  ])("format %i is refused by writer and reader, and left alone", async (format, code, advice) => {
    await writeChain(1);
    const { root, table } = openRawTables(folder);
    table("meta").putSync(asciiToBytes("format"), Uint8Array.of(...asciiToBytes("rnode"), format));
    await root.close();
    const before = readFileSync(join(folder, "data.mdb"));
    for (const readOnly of [false, true]) {
      const error = errorOf(() => openChainStore(folder, { readOnly }));
      expect(error).toMatchObject({ code, data: { folder, format, supported: 8 } });
      expect(error.message).toContain(`has format ${format}`);
      expect(storageAdvice(error)).toContain(advice);
    }
    expect(readFileSync(join(folder, "data.mdb"))).toEqual(before);
  });

  it("a reader refuses a database without one of its tables", async () => {
    await writeChain(1);
    const { root, table } = openRawTables(folder);
    table("nodeJournal").dropSync();
    await root.close();
    expect(errorOf(() => openChainStore(folder, { readOnly: true }))).toMatchObject({
      code: "storage/corrupted",
      data: { folder, reason: "table nodeJournal is missing" },
    });
  });

  it("a reader needs a database that is there", () => {
    expect(errorOf(() => openChainStore(join(folder, "none"), { readOnly: true })).code).toBe("storage/no-database");
    expect(existsSync(join(folder, "none"))).toBe(false);
  });
});

describe("a reader", () => {
  it("reads and cannot write", async () => {
    await writeChain(3);
    await withStore(
      (store) => {
        expect(store.head()?.number).toBe(2);
        expect(store.stateAt(1)?.readAccount(ADDRESS)?.balance).toBe(2n);
        expect(errorOf(() => store.writeMeta("key", Uint8Array.of(1))).code).toBe("storage/read-only");
        expect(errorOf(() => store.commitBlock(makeBlock(store, 9n))).code).toBe("storage/read-only");
      },
      { readOnly: true },
    );
  });
});

describe("what does not fit the chain", () => {
  it("is refused and leaves everything as it was", async () => {
    await withStore((store) => {
      expect(store.head()).toBeUndefined();
      expect(store.stateAt(0)).toBeUndefined();
      expect(store.trieNodesAt(0)).toBeUndefined();
      expect([...store.blocksWithLogs({}, 0, 100)]).toEqual([]);
      expect(errorOf(() => store.verifyState()).code).toBe("storage/empty");
      const genesis = makeBlock(store, 1n);
      expect(errorOf(() => store.commitBlock(genesis)).code).toBe("storage/empty");
      store.writeGenesis(genesis);
      expect(errorOf(() => store.writeGenesis(genesis)).code).toBe("storage/not-empty");
      const first = makeBlock(store, 2n);
      store.commitBlock(first);
      const second = makeBlock(store, 3n);
      const wrong = { ...second, block: { ...second.block, header: { ...second.block.header, parentHash: genesis.hash } } };
      expect(errorOf(() => store.commitBlock(wrong)).code).toBe("storage/not-child-of-head");
      // The unwinding before the faulty commit is undone together with it.
      expect(errorOf(() => store.reorganize(0, [first, wrong])).code).toBe("storage/not-child-of-head");
      expect(errorOf(() => store.reorganize(5, [])).code).toBe("storage/unknown-ancestor");
      expect(store.head()?.number).toBe(1);
      expect(store.stateAt(1)?.readAccount(ADDRESS)?.balance).toBe(2n);
      expect(store.verifyState().problems).toEqual([]);
      store.commitBlock(second);
      expect(store.head()?.number).toBe(2);
      expect(store.readTotalDifficulty(second.hash)).toBe(6n);
      expect(store.readTotalDifficulty(first.hash)).toBe(4n);
      expect(store.readTotalDifficulty(new Uint8Array(32))).toBeUndefined();
    });
  });

  it("is found by verifyState", async () => {
    await writeChain(2);
    const { root, table } = openRawTables(folder);
    table("accounts").putSync(keccak256(ADDRESS), Uint8Array.of(0, 1, 99));
    table("storage").putSync(new Uint8Array(64), Uint8Array.of(1));
    table("codes").putSync(new Uint8Array(32), Uint8Array.of(1));
    await root.close();
    const { problems, accounts } = await withStore((store) => store.verifyState());
    expect(accounts).toBe(2);
    expect(problems.join("\n")).toMatch(
      /^state root of block 1 is 0x.* recomputed 0x.*\ntrie node of the accounts at {2}differs\ntable storage has 1 rows.*\ncode 0x0+ has another hash$/,
    );
  });
});

describe("labels and values", () => {
  it("are kept, move with a commit, and are dropped with their block", async () => {
    await writeChain(5);
    await withStore((store) => {
      const id = (number: number) => {
        const view = store.stateAt(number)!;
        return view.block;
      };
      store.writeMeta("chain-config", Uint8Array.of(1, 2));
      store.writeLabels({ safe: id(3), finalized: id(1) });
      store.commitBlock(makeBlock(store, 77n), { safe: id(4) });
      expect([store.label("safe"), store.label("finalized")]).toEqual([id(4), id(1)]);
      const kept = store.stateAt(2)!;
      const lost = store.stateAt(4)!;
      expect(lost.readAccount(ADDRESS)?.balance).toBe(5n);
      store.reorganize(2, []);
      expect([store.label("safe"), store.label("finalized")]).toEqual([undefined, id(1)]);
      expect(kept.readAccount(ADDRESS)?.balance).toBe(3n);
      expect(kept.readBlockHash(3)).toBeUndefined();
      expect(errorOf(() => lost.readAccount(ADDRESS)).code).toBe("storage/state-gone");
      expect(errorOf(() => lost.readBlockHash(1)).code).toBe("storage/state-gone");
    });
    await withStore((store) => {
      expect(store.readMeta("chain-config")).toEqual(Uint8Array.of(1, 2));
      expect(store.readMeta("other")).toBeUndefined();
      expect(store.storageStats()).toMatchObject({ folder, format: 8, firstBlock: 0, oldestProvableBlock: 0 });
      expect(store.storageStats().tables.canonical?.entries).toBe(3);
    });
  });
});

describe("the proof window", () => {
  it("keeps tries of its blocks, forgets older ones, and bounds unwinding", async () => {
    const { nodeRows, oldest } = await withStore(
      (store) => {
        store.writeGenesis(makeBlock(store, 1n));
        for (let i = 1; i < 300; i++) store.commitBlock(makeBlock(store, BigInt(i + 1)));
        expect(store.trieNodesAt(299 - 129)).toBeUndefined();
        expect(errorOf(() => store.reorganize(299 - 129, [])).code).toBe("storage/unwind-too-deep");
        expect(store.stateAt(7)?.readAccount(ADDRESS)?.balance).toBe(8n); // flat history has no window
        const stats = store.storageStats();
        store.reorganize(299 - 128, []);
        expect(store.verifyState().problems).toEqual([]);
        return { nodeRows: stats.tables.nodeHistory!.entries, oldest: stats.oldestProvableBlock };
      },
      { proofWindowBlocks: 0 },
    );
    expect(oldest).toBe(299 - 128);
    expect(nodeRows).toBe(128); // two accounts: one branch per block
  });

  it("reaches back to the finalized block, because what follows may be unwound", async () => {
    await withStore(
      (store) => {
        store.writeGenesis(makeBlock(store, 1n));
        store.commitBlock(makeBlock(store, 2n));
        store.writeLabels({ finalized: store.stateAt(1)!.block });
        for (let i = 2; i < 200; i++) store.commitBlock(makeBlock(store, BigInt(i + 1)));
        expect(store.storageStats().oldestProvableBlock).toBe(1);
        store.writeLabels({ finalized: store.stateAt(90)!.block });
        for (let i = 200; i < 240; i++) store.commitBlock(makeBlock(store, BigInt(i + 1)));
        expect(store.storageStats().oldestProvableBlock).toBe(90);
        expect(errorOf(() => store.reorganize(89, [])).code).toBe("storage/unwind-too-deep");
        store.reorganize(90, []);
        expect(store.verifyState().problems).toEqual([]);
      },
      { proofWindowBlocks: 128 },
    );
  });
});
