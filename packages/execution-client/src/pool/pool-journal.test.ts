import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PoolJournal } from "./pool-journal.ts";

const raw = (first: number): Uint8Array => Uint8Array.from({ length: 100 }, (_, index) => (first + index) % 256);

describe("the journal of transactions", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "rnode-journal-"));
    path = join(folder, "transactions.rlp");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("has in order what came at once and what came while it wrote", async () => {
    const journal = new PoolJournal(path, silentLogger);
    const sent: Uint8Array[] = [];
    for (let turn = 0; turn < 5; turn++) {
      for (let count = 0; count < 3; count++) {
        sent.push(raw(sent.length));
        journal.append(sent.at(-1)!);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    await journal.close();
    expect(new PoolJournal(path, silentLogger).read()).toEqual(sent);
  });

  it("writes without being closed, also after a pause", async () => {
    const journal = new PoolJournal(path, silentLogger);
    const written = async (count: number): Promise<void> => {
      const size = 102 * count;
      for (let tries = 0; tries < 1000; tries++) {
        try {
          if (readFileSync(path).length === size) return;
        } catch {}
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      throw new Error(`${size} bytes are not written`);
    };
    journal.append(raw(0));
    await written(1);
    journal.append(raw(1));
    journal.append(raw(2));
    await written(3);
    await journal.close();
  });

  it("keeps what comes after it was rewritten", async () => {
    const journal = new PoolJournal(path, silentLogger);
    journal.append(raw(0));
    await journal.rewrite([raw(1)]);
    journal.append(raw(2));
    await journal.close();
    expect(journal.read()).toEqual([raw(1), raw(2)]);
  });
});
