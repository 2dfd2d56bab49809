import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compareBytes, EMPTY_KECCAK, EMPTY_TRIE_ROOT, keccak256 } from "@rnode/primitives";
import { encodeAccount, SortedTrieBuilder } from "@rnode/trie";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SnapshotRows } from "../api.ts";
import type { Environment } from "../database/environment.ts";
import { isLeafNode } from "../nodes/leaf-reader.ts";
import { openTables, type Tables } from "../schema.ts";
import { writeGenesisState } from "./genesis-writer.ts";

const ROWS = 20_000;
const OWNER = new Uint8Array(32).fill(7);
/** more than the rest of a page without room for another row */
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
  });

  it("has room in the pages of its tables, so that rows that grow do not split them, and no other rows than theirs", () => {
    const keys = Array.from({ length: ROWS }, (_, index) => keccak256(Uint8Array.of(index >> 8, index & 255)));
    keys.sort(compareBytes);
    const account = { nonce: 1n, balance: 10n ** 18n, codeHash: EMPTY_KECCAK, storageRoot: EMPTY_TRIE_ROOT };
    const leaf = encodeAccount(account);
    let nodes = 0;
    function* write(rows: SnapshotRows): Iterable<unknown> {
      const builder = new SortedTrieBuilder((path, rlp) => {
        if (!isLeafNode(rlp)) nodes++;
        rows.node(undefined, path.slice(), rlp.slice());
      });
      for (const key of keys) {
        rows.account(key, account);
        rows.slot(OWNER, key, Uint8Array.of(7));
        builder.add(key, leaf);
        yield undefined;
      }
      builder.finish();
    }
    const commits = writeGenesisState(
      tables,
      false,
      (action) => environment.atomically(action),
      write,
      () => 0,
      () => {},
    );
    Array.from(commits);
    const { accounts, storage, nodes: lower, upperNodes } = tables;
    const entries = [accounts, storage].map((table) => table.stats().entries);
    expect([...entries, lower.stats().entries + upperNodes.stats().entries]).toEqual([ROWS, ROWS, nodes]);
    for (const [table, rowsAPage] of [
      [accounts, 40],
      [storage, 55],
      [lower, 20],
    ] as const) {
      const written = table.stats();
      const rows = [...table.range(new Uint8Array(0))];
      environment.atomically(() => {
        for (let index = 0; index < rows.length; index += rowsAPage) {
          const { key, value } = rows[index]!;
          table.write(key, Uint8Array.of(...value, ...GROWTH));
        }
      });
      expect(table.stats().sizeBytes / written.sizeBytes).toBeLessThan(1.15); // full pages: 2.0
    }
  });
});
