import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, silentLogger } from "@rnode/observe";
import { encodeRlp } from "@rnode/primitives";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { JournalKeeper } from "./journal-keeper.ts";
import { type JournalLimits, PoolJournal } from "./pool-journal.ts";

const raw = (first: number, size = 100): Uint8Array => Uint8Array.from({ length: size }, (_, index) => (first + index) % 256);
/** PERF: compared as texts, large arrays take seconds. */
const texts = (all: readonly Uint8Array[]): string[] => all.map((one) => Buffer.from(one).toString("latin1"));
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** What a pool holds. */
const holding = (...transactions: Uint8Array[]) => ({
  transactions,
  get heldBytes() {
    return transactions.reduce((sum, { length }) => sum + length, 0);
  },
  lasting: () => transactions,
  restore: (transaction: Uint8Array) => transactions.push(transaction) > 0,
});

describe("the journal of transactions", () => {
  let folder: string;
  let path: string;
  const journals: PoolJournal[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "rnode-journal-"));
    path = join(folder, "transactions.rlp");
  });
  afterEach(async () => {
    for (const journal of journals.splice(0)) await journal.close();
  });
  const open = (limits?: Partial<JournalLimits>, log = silentLogger): PoolJournal => {
    const journal = new PoolJournal(path, log, limits);
    journals.push(journal);
    return journal;
  };
  const read = async (journal = open()): Promise<Uint8Array[]> => {
    const all: Uint8Array[] = [];
    for await (const one of journal.read()) all.push(one);
    return all;
  };
  const logging = () => {
    const lines: string[] = [];
    return { lines, log: createLogger({ level: "warn", format: "logfmt", destination: { write: (line) => lines.push(line) } }) };
  };

  it("has in order what came at once and what came while it wrote", async () => {
    const journal = open();
    const sent: Uint8Array[] = [];
    for (let times = 0; times < 5; times++) {
      for (let count = 0; count < 3; count++) {
        sent.push(raw(sent.length));
        journal.append(sent.at(-1)!);
      }
      await turn();
    }
    await journal.close();
    expect(await read()).toEqual(sent);
  });

  it("writes without being closed, also after a pause", async () => {
    const journal = open();
    const size = () => readFileSync(path).length;
    journal.append(raw(0));
    await expect.poll(size).toBe(102);
    journal.append(raw(1));
    journal.append(raw(2));
    await expect.poll(size).toBe(306);
  });

  it("keeps what comes while and after it is written anew, after what its source holds", async () => {
    const journal = open();
    journal.append(raw(0));
    await journal.rewrite(); // of no effect: nobody has said that what it holds is in the pool
    const large = Array.from({ length: 30 }, (_, index) => raw(index, 100_000));
    journal.follow(holding(...large));
    journal.append(raw(1));
    const written = journal.rewrite();
    await turn();
    journal.append(raw(2));
    await written;
    journal.append(raw(3));
    await journal.close();
    expect(texts(await read())).toEqual(texts([...large, raw(2), raw(3)]));
  });

  it("is written anew when it has outgrown what its source holds", async () => {
    const journal = open({ minOutgrownBytes: 1000 });
    const held = raw(7);
    journal.follow(holding(held));
    for (let count = 0; count < 500; count++) {
      journal.append(raw(count));
      if (count % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await expect.poll(() => statSync(path).size).toBeLessThan(1100);
    await journal.close();
    expect((await read())[0]).toEqual(held);
  });

  it("takes no more than its bound, and says so once", async () => {
    const { lines, log } = logging();
    const journal = open({ maxBytes: 1000, maxWaitingBytes: 500 }, log);
    for (let count = 0; count < 50; count++) {
      journal.append(raw(count));
      journal.append(raw(count));
      await turn();
    }
    journal.follow(holding(...Array.from({ length: 50 }, (_, index) => raw(index))));
    await journal.rewrite();
    await journal.close();
    expect(statSync(path).size).toBeLessThanOrEqual(1000);
    expect(lines.join("")).toMatch(/journal is full/);
    expect(lines).toHaveLength(1);
  });

  it.each<[string, () => Uint8Array]>([
    ["cut off", () => encodeRlp(raw(9)).subarray(0, 50)],
    ["a list", () => encodeRlp([raw(9)])],
    ["zeros", () => new Uint8Array(3_000_000)],
    ["a record without end", () => Buffer.concat([Uint8Array.of(0xbb, 0xff, 0xff, 0xff, 0xff), new Uint8Array(200_000)])],
  ])("gives back what is before an end that is damaged: %s", async (_, end) => {
    const { lines, log } = logging();
    const before = Array.from({ length: 25 }, (_, index) => raw(index, 100_000));
    writeFileSync(path, Buffer.concat([...before.map((one) => encodeRlp(one)), end()]));
    expect(texts(await read(open({}, log)))).toEqual(texts(before));
    expect(lines).toHaveLength(1);
  });

  it("comes back in slices, and an end meanwhile leaves it as it is", async () => {
    const before = Array.from({ length: 200 }, (_, index) => raw(index));
    writeFileSync(path, Buffer.concat(before.map((one) => encodeRlp(one))));
    const size = statSync(path).size;
    const slow = holding();
    const busy = (transaction: Uint8Array) => {
      for (const end = performance.now() + 1; performance.now() < end; );
      return slow.restore(transaction);
    };
    const keeper = new JournalKeeper(open(), { ...slow, restore: busy }, silentLogger, 60_000);
    keeper.start();
    await expect.poll(() => slow.transactions.length, { interval: 1 }).toBeGreaterThan(0);
    expect(slow.transactions.length).toBeLessThan(200);
    await keeper.close();
    expect([slow.transactions.length < 200, statSync(path).size]).toEqual([true, size]);

    const pool = holding();
    const again = new JournalKeeper(open(), pool, silentLogger, 60_000);
    again.start();
    await expect.poll(() => pool.transactions.length).toBe(200);
    await again.close();
    expect(await read()).toEqual(before);
  });

  it("leaves no timer when it is closed while it writes the journal for the first time", async () => {
    const set = vi.spyOn(globalThis, "setInterval");
    const cleared = vi.spyOn(globalThis, "clearInterval");
    onTestFinished(() => void vi.restoreAllMocks());
    const journal = open();
    const rewrite = journal.rewrite.bind(journal);
    const keeper = new JournalKeeper(journal, holding(), silentLogger, 60_000);
    let closed: Promise<void> | undefined;
    vi.spyOn(journal, "rewrite").mockImplementationOnce(async () => {
      closed = keeper.close();
      await rewrite();
    });
    keeper.start();
    await expect.poll(() => closed !== undefined).toBe(true);
    await closed;
    expect(set).toHaveBeenCalledTimes(1);
    expect(cleared).toHaveBeenCalledWith(set.mock.results[0]!.value);
  });
});
