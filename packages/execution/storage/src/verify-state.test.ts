import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bigintToBytes, bytesToHex, concatBytes, EMPTY_KECCAK, EMPTY_TRIE_ROOT, keccak256, ZERO_HASH } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { hashHeader } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { updateStateTrie } from "@rnode/trie";
import { beforeAll, describe, expect, it } from "vitest";
import type { BlockCommit, ChainDatabase, StateVerification, VerifyNotice } from "./api.ts";
import { openChainStore } from "./lmdb-chain-store.ts";
import { openRawTables } from "./testing/raw-tables.ts";
import { CheckpointFolder } from "./verification/checkpoint-folder.ts";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const ACCOUNTS = 5000;
const CODES = 600;
/** of the account at index 5; others have fewer than 40 */
const MANY_SLOTS = 2500;

const hashOf = (kind: number, index: number): Uint8Array => keccak256(Uint8Array.of(kind, index >> 8, index));
const addressOf = (index: number): Uint8Array => hashOf(0, index).slice(12);

function genesisCommit(): BlockCommit {
  const codes = Array.from({ length: CODES }, (_, index) => {
    const code = hashOf(1, index);
    return { code, codeHash: keccak256(code) };
  });
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) => {
    const slots = index === 5 ? MANY_SLOTS : index % 7 === 0 ? index % 40 : 0;
    return {
      address: addressOf(index),
      before: undefined,
      after: { nonce: BigInt(index), balance: 10n ** 18n, codeHash: codes[index]?.codeHash ?? EMPTY_KECCAK },
      storageCleared: false,
      storage: Array.from({ length: slots }, (_, slot) => ({
        slot: bigintToBytes(BigInt(slot), 32),
        before: ZERO_HASH,
        after: bigintToBytes(BigInt(1 + index * slot), 32),
      })),
    };
  });
  return commitOf(undefined, { accounts, codes });
}

/** A child of the store's head; `undefined`: the first block. */
function commitOf(store: ChainDatabase | undefined, changes: BlockCommit["changes"]): BlockCommit {
  const head = store?.head();
  const parentHash = head === undefined ? ZERO_HASH : store!.readCanonicalHash(head.number)!;
  const parentRoot = head === undefined ? EMPTY_TRIE_ROOT : store!.readHeader(parentHash)!.stateRoot;
  const nodes = head === undefined ? { readNode: () => undefined } : store!.trieNodesAt(head.number)!;
  const update = updateStateTrie(nodes, parentRoot, changes.accounts, () => undefined);
  const number = head === undefined ? 0 : head.number + 1;
  const header = headerOf({ parentHash, stateRoot: update.stateRoot, difficulty: 2n, number });
  return {
    block: { header, transactions: [], ommers: [] },
    hash: hashHeader(header),
    receipts: [],
    senders: [],
    changes,
    storageRoots: update.storageRoots,
    nodes: update.nodes,
  };
}

/** Damages a few rows of each table, all over it. */
async function damageRows(folder: string): Promise<void> {
  const { root, table } = openRawTables(folder);
  for (const [name, step] of Object.entries({ accounts: 1249, storage: 4999, codes: 199, nodes: 1249 })) {
    const rows = [...table(name).getRange({})].filter((_, index) => index % step === step >> 1);
    for (const { key, value } of rows) {
      const copy = new Uint8Array(value);
      copy[copy.length >> 1]! ^= 1;
      table(name).putSync(new Uint8Array(key), copy);
    }
  }
  table("nodes").removeSync(Uint8Array.of(0, 7, 7));
  table("storage").putSync(concatBytes(new Uint8Array(32).fill(0x80), ZERO_HASH), Uint8Array.of(1)); // of no account
  await root.close();
}

let folder: string;
const at = (...names: string[]): string => join(folder, ...names);
/** The result and the number of reports of a verification that is not interrupted. */
const whole: Record<string, { readonly result: StateVerification; readonly reports: number }> = {};
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rnode-verify-"));
  const store = openChainStore(at("good"), { sync: "interval" });
  store.writeGenesis(genesisCommit());
  await store.close();
  copyDatabase("good", "bad");
  await damageRows(at("bad"));
  for (const name of ["good", "bad"]) {
    const { result, reports } = await verify(at(name), {}, false);
    whole[name] = { result: result!, reports };
  }
});

function copyDatabase(from: string, to: string): string {
  rmSync(at(to), { recursive: true, force: true });
  mkdirSync(at(to));
  copyFileSync(at(from, "data.mdb"), at(to, "data.mdb"));
  return at(to);
}

class Interruption extends Error {}

interface Attempt {
  /** the report of progress that never comes back; default: none */
  readonly interruptedAt?: number;
  /** reports between two checkpoints; default: 3 */
  readonly interval?: number;
  readonly restart?: boolean;
  readonly onReport?: (report: number) => void;
}

/** @returns the result, undefined after an interruption */
async function verify(path: string, attempt: Attempt = {}, hasCheckpoints = true) {
  const { interruptedAt, interval = 3, restart, onReport } = attempt;
  const notices: VerifyNotice[] = [];
  let reports = 0;
  const store = openChainStore(path, { readOnly: true });
  const onProgress = (): void => {
    onReport?.(reports);
    if (++reports === interruptedAt) throw new Interruption();
  };
  const checkpoints = {
    restart,
    intervalMs: interval,
    nowMs: () => reports,
    onNotice: (notice: VerifyNotice) => notices.push(notice),
  };
  try {
    const result = store.verifyState({ onProgress, checkpoints: hasCheckpoints ? checkpoints : undefined });
    return { result, notices, reports };
  } catch (error) {
    if (!(error instanceof Interruption)) throw error;
    return { result: undefined, notices, reports };
  } finally {
    await store.close();
  }
}

describe("an interrupted verification", () => {
  it("is one with enough reports of progress to be interrupted, and with problems in all tables", () => {
    expect(whole.good!.result.problems).toEqual([]);
    expect(whole.good!.reports).toBeGreaterThan(60);
    const problems = whole.bad!.result.problems.join("\n");
    expect(whole.bad!.result.problems.length).toBeLessThan(100);
    for (const what of [
      /^state root of/,
      /^trie node of the accounts/m,
      /^trie node of 0x/m,
      /^storage root/m,
      /^code .* another/m,
      /^table storage/m,
    ]) {
      expect(problems).toMatch(what);
    }
  });

  it.each(["good", "bad"].flatMap((name) => [1, 2].map((seed) => [name, seed] as const)))(
    "goes on from about where it was, any number of times, with the same result (%s, seed %i)",
    async (name, seed) => {
      const random = createRandom(seed);
      const { result, reports } = whole[name]!;
      const interval = 1 + random(4);
      let [all, attempts] = [0, 0];
      for (;;) {
        const found = await verify(at(name), { interruptedAt: 1 + interval + random(30), interval });
        expect(found.notices.map(({ kind }) => kind)).toEqual(attempts === 0 || all < interval ? [] : ["resumed"]);
        attempts++;
        all += found.reports;
        if (found.result === undefined) continue;
        expect(found.result).toEqual(result);
        break;
      }
      expect(attempts).toBeGreaterThan(3);
      // Rows that are read again are between the last checkpoint and the interruption.
      expect(all).toBeLessThanOrEqual(reports + attempts * interval);
      expect(existsSync(at(name, "verify"))).toBe(false);
    },
  );

  it("goes on after kill -9", { tags: "long" }, async () => {
    const path = copyDatabase("good", "killed");
    // The child process runs the build.
    const built = spawnSync(join(PACKAGE, "../../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
    if (built.error !== undefined) throw built.error;
    const program = join(PACKAGE, "test-programs/verify-killed.mjs");
    const { signal, stderr } = spawnSync(process.execPath, [program, path, "40"], { encoding: "utf8" });
    expect({ signal, stderr }).toEqual({ signal: "SIGKILL", stderr: "" });
    const { result, notices, reports } = await verify(path);
    expect(notices).toMatchObject([{ kind: "resumed" }]);
    expect(result).toEqual(whole.good!.result);
    expect(reports).toBeLessThanOrEqual(whole.good!.reports - 39);
    expect(existsSync(join(path, "verify"))).toBe(false);
  });

  it("tells how far it was", async () => {
    await verify(at("good"), { interruptedAt: Math.floor(0.8 * whole.good!.reports) });
    const { notices, reports } = await verify(at("good"));
    expect(notices).toMatchObject([{ kind: "resumed", part: "state" }]);
    const [notice] = notices;
    if (notice?.kind !== "resumed") throw new Error("it does not go on");
    expect(notice.done / notice.total).toBeGreaterThan(0.5);
    expect(reports).toBeLessThan(whole.good!.reports / 2);
  });
});

describe("a checkpoint is of no use", () => {
  const flip = (path: string, offset: (size: number) => number): void => {
    const bytes = readFileSync(path);
    bytes[offset(bytes.length)]! ^= 1;
    writeFileSync(path, bytes);
  };

  const commitEmpty = (store: ChainDatabase): void => store.commitBlock(commitOf(store, { accounts: [], codes: [] }));

  async function write(path: string, action: (store: ChainDatabase) => void): Promise<void> {
    const store = openChainStore(path, { sync: "interval" });
    action(store);
    await store.close();
  }

  /** The writer removes a checkpoint with another head, unless it is killed before. */
  async function withKeptCheckpoint(path: string, action: (store: ChainDatabase) => void): Promise<void> {
    cpSync(join(path, "verify"), join(path, "kept"), { recursive: true });
    await write(path, action);
    expect(existsSync(join(path, "verify"))).toBe(false);
    renameSync(join(path, "kept"), join(path, "verify"));
  }

  it("of the same head after another commit, which leaves it where it is: the verification begins anew", async () => {
    const path = copyDatabase("good", "changed");
    await verify(path, { interruptedAt: 50 });
    await write(path, (store) => store.writeMeta("key", new Uint8Array(1)));
    const { result, notices } = await verify(path);
    expect(notices).toEqual([{ kind: "restarted", because: "file" }]);
    expect(result!.problems).toEqual([]);
  });

  it("that a running verification has is not removed by a writer", async () => {
    const path = copyDatabase("good", "changed");
    await verify(path, { interruptedAt: 50 });
    const running = new CheckpointFolder(path);
    await write(path, commitEmpty);
    expect(running.read()).toBeDefined();
    running.release();
  });

  const changes: readonly [string, string, (path: string) => unknown, Attempt?][] = [
    ["after a bit of it has changed", "damaged", (path) => flip(join(path, "verify/checkpoint"), (size) => size - 9)],
    ["if it is the file of another program", "damaged", (path) => writeFileSync(join(path, "verify/checkpoint"), "{}")],
    ["if it is empty", "damaged", (path) => writeFileSync(join(path, "verify/checkpoint"), "")],
    ["in the format of another version", "version", (path) => flip(join(path, "verify/checkpoint"), () => 13)],
    ["if another beginning is wanted", "wanted", () => {}, { restart: true }],
    ["after the data file was put back", "file", (path) => copyFileSync(at("good", "data.mdb"), join(path, "data.mdb"))],
    [
      "if it comes from another copy of the database",
      "file",
      async (path) => {
        await verify(copyDatabase("good", "other"), { interruptedAt: 50 });
        copyFileSync(at("other", "verify/checkpoint"), join(path, "verify/checkpoint"));
      },
    ],
    ["of another head", "head", (path) => withKeptCheckpoint(path, (store) => commitEmpty(store))],
    [
      "of a head that was left and came back",
      "head",
      (path) =>
        withKeptCheckpoint(path, (store) => {
          commitEmpty(store);
          store.reorganize(0, []);
        }),
    ],
  ];
  const beginsAnew = async (because: string, change: (path: string) => unknown, attempt?: Attempt): Promise<void> => {
    const path = copyDatabase("good", "changed");
    await verify(path, { interruptedAt: 50 });
    await change(path);
    const { result, notices, reports } = await verify(path, attempt);
    expect(notices).toEqual([{ kind: "restarted", because }]);
    expect(result!.problems).toEqual([]);
    expect(bytesToHex(result!.stateRoot)).toBe(bytesToHex(whole.good!.result.stateRoot));
    expect(reports).toBeGreaterThanOrEqual(whole.good!.reports);
    expect(existsSync(join(path, "verify"))).toBe(false);
  };
  const QUICK = new Set(["damaged", "file", "head"]);
  for (const [how, because, change, attempt] of changes)
    it(`${how}: the verification begins anew, and says why`, { tags: QUICK.delete(because) ? [] : "long" }, () =>
      beginsAnew(because, change, attempt),
    );
});

describe("without a place for checkpoints", () => {
  it.each<[string, (path: string) => () => void]>([
    [
      "because a file has the name of the folder",
      (path) => {
        writeFileSync(join(path, "verify"), "");
        return () => {};
      },
    ],
    [
      "because another verification is running",
      (path) => {
        const other = new CheckpointFolder(path);
        return () => other.release();
      },
    ],
  ])("a verification goes without them, %s", async (_, prepare) => {
    const path = copyDatabase("good", "changed");
    const release = prepare(path);
    const { result, notices } = await verify(path);
    release();
    expect(result).toEqual(whole.good!.result);
    expect(notices).toMatchObject([{ kind: "no-checkpoint" }]);
    expect(readdirSync(path).filter((name) => name.startsWith("sorting"))).toEqual([]);
  });

  // root may write anywhere
  it.skipIf(process.getuid?.() === 0)("a verification goes without them, because the folder cannot be written", async () => {
    const path = copyDatabase("good", "read-only");
    await verify(path, {}, false); // makes lock.mdb
    chmodSync(path, 0o555);
    try {
      const { result, notices } = await verify(path);
      expect(result).toEqual(whole.good!.result);
      expect(notices).toMatchObject([{ kind: "no-checkpoint" }]);
    } finally {
      chmodSync(path, 0o755);
    }
  });

  it("one that cannot be written is left out, and the one before it counts", async () => {
    const path = copyDatabase("good", "changed");
    const onReport = (report: number): void => {
      if (report === 20) mkdirSync(join(path, "verify/checkpoint.new"));
    };
    const first = await verify(path, { onReport, interruptedAt: 60 });
    expect(first.notices).toMatchObject([{ kind: "no-checkpoint" }]);
    rmSync(join(path, "verify/checkpoint.new"), { recursive: true });
    const second = await verify(path);
    expect(second.notices).toMatchObject([{ kind: "resumed" }]);
    expect(second.result).toEqual(whole.good!.result);
    expect(second.reports).toBeLessThan(whole.good!.reports - 10);
  });
});

it("leaves neither a file nor a change of the database, and no folder without checkpoints", async () => {
  const path = copyDatabase("good", "changed");
  const before = statSync(join(path, "data.mdb"), { bigint: true });
  await verify(path);
  await verify(path, {}, false);
  const after = statSync(join(path, "data.mdb"), { bigint: true });
  expect([after.ctimeNs, after.mtimeNs, after.size]).toEqual([before.ctimeNs, before.mtimeNs, before.size]);
  expect(readdirSync(path).sort()).toEqual(["data.mdb", "lock.mdb"]);
});
