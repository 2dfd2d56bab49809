import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compareBytes, EMPTY_KECCAK, EMPTY_TRIE_ROOT, keccak256 } from "@rnode/primitives";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SnapshotRows } from "../api.ts";
import type { Environment } from "../database/environment.ts";
import { openTables, type Tables } from "../schema.ts";
import { writeGenesisState } from "./genesis-writer.ts";

const ACCOUNTS = 20_000;
/** fewer than a page has */
const ROWS_BETWEEN_CHANGES = 40;
/** more than what is left of a page where no other row fits */
const GROWTH = new Uint8Array(60);

describe("a state that is written in one go", () => {
  let folder: string;
  let environment: Environment;
  let tables: Tables;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "rnode-genesis-"));
    ({ environment, tables } = openTables(folder, {
      readOnly: false,
      mapSizeBytes: undefined,
      sync: "interval",
      syncIntervalMs: 60_000,
    }));
  });
  afterAll(async () => {
    await environment.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("has room in the pages of its accounts, so that rows that grow do not split them, and no other rows than theirs", () => {
    const addresses = Array.from({ length: ACCOUNTS }, (_, index) =>
      keccak256(Uint8Array.of(index >> 8, index & 255)).slice(0, 20),
    );
    addresses.sort(compareBytes);
    const account = { nonce: 1n, balance: 10n ** 18n, codeHash: EMPTY_KECCAK, storageRoot: EMPTY_TRIE_ROOT };
    function* write(rows: SnapshotRows): Iterable<unknown> {
      for (const address of addresses) {
        rows.account(address, account);
        yield undefined;
      }
    }
    writeGenesisState(
      tables,
      (action) => environment.atomically(action),
      write,
      () => 0,
      () => {},
    );
    const written = tables.accounts.stats();
    expect(written.entries).toBe(ACCOUNTS);

    environment.atomically(() => {
      for (let index = 0; index < ACCOUNTS; index += ROWS_BETWEEN_CHANGES) {
        const row = tables.accounts.read(addresses[index]!)!;
        tables.accounts.write(addresses[index]!, Uint8Array.of(...row, ...GROWTH));
      }
    });
    const grown = tables.accounts.stats().sizeBytes / written.sizeBytes;
    expect(grown).toBeLessThan(1.05); // full pages: 2.0
  });
});
