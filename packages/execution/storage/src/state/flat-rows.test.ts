import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EMPTY_KECCAK, EMPTY_TRIE_ROOT, keccak256 } from "@rnode/primitives";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Environment } from "../database/environment.ts";
import type { Table } from "../database/table.ts";
import { encodeAccountValue } from "./account-value.ts";
import { ChangeListPart, firstChangeAfter, isChangeListPart, MAX_PART_BYTES, PART_NUMBERS } from "./change-list.ts";
import { FlatRows } from "./flat-rows.ts";

let folder: string;
let environment: Environment;
const emptyTable = (name: string): Table => {
  const table = environment.openTable(name)!;
  table.clear();
  return table;
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-flat-rows-"));
  environment = new Environment(folder, { readOnly: false, mapSizeBytes: undefined, sync: "interval", syncIntervalMs: 60_000 });
});
afterAll(async () => {
  await environment.close();
});

describe("a part of a list", () => {
  const numbers = fc
    .uniqueArray(fc.oneof(fc.nat(300), fc.nat(2 ** 31 - 1), fc.integer({ min: 2 ** 40, max: 2 ** 47 })), {
      minLength: 1,
      maxLength: PART_NUMBERS,
    })
    .map((all) => all.sort((a, b) => a - b));

  it("is read back, wherever it lies, and finds the first change after any block", () => {
    fc.assert(
      fc.property(numbers, fc.boolean(), fc.nat(5), fc.array(fc.nat(2 ** 31 - 1)), (all, hasEarlier, at, queries) => {
        const part = new ChangeListPart();
        part.numbers.set(all);
        part.count = all.length;
        part.hasEarlier = hasEarlier;
        const bytes = new Uint8Array(at + MAX_PART_BYTES);
        const end = part.write(bytes, at);
        const read = new ChangeListPart();
        read.read(bytes, at, end);
        expect([...read.numbers.subarray(0, read.count)]).toEqual(all);
        expect(read.hasEarlier).toBe(hasEarlier);
        for (const query of [...queries, ...all, ...all.map((number) => number - 1)]) {
          const index = all.findIndex((number) => number > query);
          expect(firstChangeAfter(query, bytes, at, end)).toEqual({ number: all[index], mayBeEarlier: index === 0 && hasEarlier });
        }
        const part1 = bytes.slice(0, end);
        expect(isChangeListPart(part1, at, all.at(-1)!)).toBe(true);
        expect(isChangeListPart(part1, at, all.at(-1)! - 1)).toBe(false);
        expect(isChangeListPart(bytes.slice(0, end - 1), at, 2 ** 48)).toBe(
          end - 1 === at || (bytes[end - 2]! < 0x80 && end - 2 >= at),
        );
      }),
    );
  });
});

interface Step {
  readonly key: number;
  readonly value: number;
}
const KINDS = [
  { kind: "slot" as const, bytesOf: (value: number) => Uint8Array.of(1 + (value % 255), value) },
  {
    kind: "account" as const,
    bytesOf: (value: number) =>
      encodeAccountValue({
        nonce: BigInt(value),
        balance: BigInt(value) ** 3n,
        codeHash: value % 3 === 0 ? keccak256(Uint8Array.of(value)) : EMPTY_KECCAK,
        storageRoot: value % 2 === 0 ? keccak256(Uint8Array.of(value, 1)) : EMPTY_TRIE_ROOT,
      }),
  },
];

/** Every row of both tables. */
const dumpOf = (...parts: readonly Table[]): string[][] =>
  parts.map((table) =>
    [...table.range(new Uint8Array(1))].map(
      ({ key, value }) => `${Buffer.from(key).toString("hex")} ${Buffer.from(value).toString("hex")}`,
    ),
  );

describe.each(KINDS)("rows of the kind $kind", ({ kind, bytesOf }) => {
  const KEYS = [Uint8Array.of(1, 2), Uint8Array.of(1, 3), Uint8Array.of(255, 255)];
  // The first key changes in nearly every block; value 0: gone.
  const step = fc.record<Step>({ key: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.nat(2)), value: fc.nat(6) });
  const operation = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("blocks" as const), blocks: fc.array(step, { maxLength: 40 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("unwind" as const), count: fc.nat(45) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("prune" as const), count: fc.nat(40) }) },
  );
  const start = 2 ** 33;

  it.each([0, 1])("are restored block by block, also where a part of the list begins, gone every other block: %i", (turn) => {
    const [rows, lists] = [emptyTable("rows"), emptyTable("lists")];
    const flat = new FlatRows(kind, 2, { rows, lists });
    const bytesOfBlock = (block: number): Uint8Array => (block === 0 || block % 2 === turn ? new Uint8Array(0) : bytesOf(block));
    const before: string[][][] = [];
    environment.atomically(() => {
      for (let block = 1; block <= 3 * PART_NUMBERS + 2; block++) {
        before.push(dumpOf(rows, lists));
        const value = bytesOfBlock(block);
        flat.seek(KEYS[0]!);
        flat.replace(value, 0, value.length, [block]);
      }
      while (before.length > 0) {
        const value = bytesOfBlock(before.length - 1);
        flat.seek(KEYS[0]!);
        flat.restore(value.length === 0 ? undefined : value, before.length);
        expect(dumpOf(rows, lists)).toEqual(before.pop());
      }
    });
  });

  it("know every version, and are as if what was unwound had never been", () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 9 }), fc.integer({ min: 1, max: 4 }), (operations, groupBlocks) => {
        const [rows, lists] = [emptyTable("rows"), emptyTable("lists")];
        const flat = new FlatRows(kind, 2, { rows, lists });
        /** for each block: the key and its value before and after */
        const blocks: { key: number; before: number; after: number }[] = [];
        const now = [0, 0, 0];
        let pruned = 0;
        const numberOf = (block: number): number => start + 3 * block;
        const replace = (target: FlatRows, key: number, value: number, numbers: readonly number[]): void => {
          const bytes = value === 0 ? new Uint8Array(0) : bytesOf(value);
          target.seek(KEYS[key]!);
          target.replace(bytes, 0, bytes.length, numbers);
        };
        environment.atomically(() => {
          for (const given of operations) {
            if (given.kind === "blocks") {
              // Some blocks at a time, of each key once.
              for (let at = 0; at < given.blocks.length; at += groupBlocks) {
                const group = new Map<number, { value: number; numbers: number[] }>();
                for (const { key, value } of given.blocks.slice(at, at + groupBlocks)) {
                  if (value === now[key]) continue;
                  const numbers = group.get(key)?.numbers ?? [];
                  numbers.push(numberOf(blocks.length));
                  group.set(key, { value, numbers });
                  blocks.push({ key, before: now[key]!, after: value });
                  now[key] = value;
                }
                for (const [key, { value, numbers }] of group) replace(flat, key, value, numbers);
              }
            } else if (given.kind === "unwind") {
              for (let i = 0; i < given.count && blocks.length > pruned; i++) {
                const { key, before } = blocks.pop()!;
                flat.seek(KEYS[key]!);
                flat.restore(before === 0 ? undefined : bytesOf(before), numberOf(blocks.length));
                now[key] = before;
              }
            } else {
              for (let i = 0; i < given.count && pruned < blocks.length; i++, pruned++)
                flat.prune(KEYS[blocks[pruned]!.key]!, numberOf(pruned));
            }
          }
        });
        for (const [key, bytes] of KEYS.entries()) {
          const row = rows.read(bytes);
          expect(row && [...row.subarray(flat.valueAt(row), flat.valueEnd(row))]).toEqual(
            now[key] === 0 ? undefined : [...bytesOf(now[key]!)],
          );
          for (let block = Math.max(0, pruned - 1); block <= blocks.length; block++) {
            const next = blocks.findIndex((change, at) => at > block && change.key === key);
            expect(flat.firstChange(numberOf(block), bytes, rows.read(bytes))).toBe(next < 0 ? undefined : numberOf(next));
          }
        }
        const after = Math.max(0, pruned - 1);
        const gone = KEYS.filter((_, key) => now[key] === 0 && blocks.some((change, at) => at > after && change.key === key));
        const listed = new Set([...flat.goneKeys(numberOf(after), new Uint8Array(0), new Uint8Array(0))].map(String));
        expect(gone.every((key) => listed.has(String(key)))).toBe(true);
        if (pruned > 0) return;
        const [otherRows, otherLists] = [emptyTable("other rows"), emptyTable("other lists")];
        const other = new FlatRows(kind, 2, { rows: otherRows, lists: otherLists });
        environment.atomically(() => {
          for (const [block, { key, after: value }] of blocks.entries()) replace(other, key, value, [numberOf(block)]);
        });
        expect(dumpOf(rows, lists)).toEqual(dumpOf(otherRows, otherLists));
      }),
      { numRuns: 40, seed: 7 },
    );
  });
});
