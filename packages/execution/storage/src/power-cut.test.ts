import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom, type Random } from "@rnode/primitives/testing";
import { beforeAll, describe, expect, it } from "vitest";
import type { ChainDatabase } from "./api.ts";
import { openChainStore } from "./lmdb-chain-store.ts";
import { RandomChain } from "./testing/random-chain.ts";

const PAGE = 4096;
/** Only Linux shows whether the machine was restarted; elsewhere every commit is on disk when it returns. */
const BOOT_ID = "/proc/sys/kernel/random/boot_id";
const EARLIER_BOOT = "00000000-0000-0000-0000-000000000000:1";
let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "rnode-power-cut-"));
});

const fileOf = (folder: string): Buffer => readFileSync(join(folder, "data.mdb"));

/** The possible content of the disk after a power cut during a commit: any of its pages, in any order. */
function tornFile(before: Buffer, after: Buffer, random: Random, share: number): Buffer {
  const torn = Buffer.alloc(random(2) === 0 ? before.length : after.length);
  before.copy(torn);
  for (let at = 0; at < torn.length; at += PAGE) {
    const page = after.subarray(at, at + PAGE);
    if (!page.equals(before.subarray(at, at + PAGE)) && random(100) < share) page.copy(torn, at);
  }
  return torn;
}

/** A folder that a writer left when the machine stopped. */
function leftFolder(name: string, data: Buffer, note = "behind"): string {
  const folder = join(root, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "data.mdb"), data);
  writeFileSync(join(folder, "writer.lock"), `99999999 ${EARLIER_BOOT} ${note}\n`);
  return folder;
}

async function using<T>(folder: string, use: (store: ChainDatabase) => T): Promise<T> {
  const store = openChainStore(folder, { sync: "behind" });
  try {
    return use(store);
  } finally {
    await store.close();
  }
}

describe.skipIf(!existsSync(BOOT_ID))("a power cut while a commit is on its way to the disk", () => {
  it("leaves the chain of one of the two commits before it, whole", { tags: "long" }, async () => {
    const random = createRandom(7);
    const found = new Set<number>();
    for (let round = 0; round < 12; round++) {
      const folder = join(root, `live-${round}`);
      const store = openChainStore(folder, { sync: "behind" });
      const heads: { readonly hash: string }[] = [];
      const images: Buffer[] = [];
      const chain = new RandomChain(store, round);
      chain.run(6 + random(20));
      for (let i = 0; i < 3; i++) {
        if (i > 0) chain.run(1); // a block, or a reorganisation
        heads.push(store.head()!);
        images.push(fileOf(folder));
      }
      await store.close();
      const torn = leftFolder(`torn-${round}`, tornFile(images[1]!, images[2]!, random, [10, 50, 90][round % 3]!));
      await using(torn, (reopened) => {
        expect(reopened.verifyState().problems).toEqual([]);
        const at = heads.findIndex(({ hash }) => hash === reopened.head()!.hash);
        expect([0, 1], `round ${round}`).toContain(at);
        found.add(at);
      });
    }
    expect(found).toContain(1);
  });

  it("takes no commit that was to be on the disk, whatever was being committed after it", async () => {
    const random = createRandom(8);
    for (let round = 0; round < 6; round++) {
      const folder = join(root, `flushed-${round}`);
      const store = openChainStore(folder, { sync: "behind" });
      const chain = new RandomChain(store, round);
      chain.run(8);
      chain.extend({ isFlushed: true });
      const own = store.head()!;
      const before = fileOf(folder);
      store.writeLabels({ safe: store.head()! });
      const after = fileOf(folder);
      await store.close();
      const torn = leftFolder(`torn-flushed-${round}`, tornFile(before, after, random, 50));
      await using(torn, (reopened) => {
        expect(reopened.head()!.number).toBe(own.number);
        expect(reopened.verifyState().problems).toEqual([]);
      });
    }
  });

  it("is told to who only reads, until a writer has dealt with it", async () => {
    const folder = join(root, "read-only");
    const store = openChainStore(folder, { sync: "behind" });
    new RandomChain(store, 1).run(5);
    await store.close();
    const left = leftFolder("read-only-left", fileOf(folder));
    expect(() => openChainStore(left, { readOnly: true })).toThrow(/the machine stopped before the last commit was on the disk/);
    await using(left, () => {});
    const reader = openChainStore(left, { readOnly: true });
    expect(reader.head()).toBeDefined();
    await reader.close();
  });
});

describe.skipIf(!existsSync(BOOT_ID))("what is not a power cut", () => {
  it("a killed process, a commit that waits for the disk, and a clean end lose nothing", async () => {
    const boot = readFileSync(BOOT_ID, "utf8").trim();
    const folder = join(root, "kept");
    const store = openChainStore(folder, { sync: "behind" });
    new RandomChain(store, 2).run(9);
    const head = store.head()!;
    const killed = leftFolder("killed", fileOf(folder));
    writeFileSync(join(killed, "writer.lock"), `99999999 ${boot}:1 behind\n`);
    const synced = leftFolder("synced", fileOf(folder), "");
    await store.close();
    for (const each of [folder, killed, synced]) {
      await using(each, (reopened) => {
        expect(reopened.droppedLastCommit).toBe(false);
        expect(reopened.head()!.hash).toBe(head.hash);
      });
      expect(existsSync(join(each, "writer.lock"))).toBe(false);
    }
  });

  it("but a commit that the disk refused is given up, also without one", async () => {
    const folder = join(root, "refused");
    const store = openChainStore(folder, { sync: "behind" });
    const chain = new RandomChain(store, 3);
    chain.run(9);
    const before = store.head()!;
    chain.extend();
    const image = fileOf(folder);
    await store.close();
    const refused = leftFolder("refused-left", image, "torn");
    await using(refused, (reopened) => {
      expect(reopened.droppedLastCommit).toBe(true);
      expect(reopened.head()!.hash).toBe(before.hash);
      expect(reopened.verifyState().problems).toEqual([]);
    });
  });
});
