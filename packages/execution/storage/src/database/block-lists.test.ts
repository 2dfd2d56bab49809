import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keccak256 } from "@rnode/primitives";
import type { Log } from "@rnode/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LogBatch, LogIndex } from "../logs/log-index.ts";
import { BlockListIndex } from "./block-list-index.ts";
import { Environment } from "./environment.ts";

let folder: string;
let environment: Environment;
let tables = 0;
const newTable = () => environment.openTable(`lists${tables++}`)!;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-lists-"));
  environment = new Environment(folder, { readOnly: false, mapSizeBytes: undefined, sync: "interval", syncIntervalMs: 60_000 });
});
afterAll(async () => {
  await environment.close();
});

describe("BlockListIndex", () => {
  it("finds, appends, prepends and truncates across chunks as a sorted list does", () => {
    const operation = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant("append" as const), count: fc.nat(300), step: fc.integer({ min: 1, max: 5 }) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant("prepend" as const), count: fc.nat(500), step: fc.integer({ min: 1, max: 5 }) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("truncate" as const), back: fc.nat(700) }) },
    );
    const index = new BlockListIndex(newTable());
    const neighbours = [Uint8Array.of(1, 2, 2), Uint8Array.of(1, 2, 4)];
    environment.atomically(() => {
      for (const key of neighbours) index.append(key, 77);
    });
    let run = 0;
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 12 }), fc.array(fc.nat(5000), { maxLength: 20 }), (operations, queries) => {
        // Keys that neighbour those of other lists but are prefixes of none.
        const key = Uint8Array.of(1, 2, 3, run >> 8, run++);
        let model: number[] = [];
        environment.atomically(() => {
          for (const operation of operations) {
            if (operation.kind === "append") {
              for (let i = 0; i < operation.count; i++) {
                const next = (model.at(-1) ?? 2 ** 33) + operation.step;
                model.push(next);
                index.append(key, next);
              }
            } else if (operation.kind === "prepend") {
              const first = model[0] ?? 2 ** 33 + 3000;
              const older = Array.from({ length: operation.count }, (_, i) => first - operation.step * (operation.count - i));
              index.prependAll(key, [...older, 7], older.length);
              model.unshift(...older);
            } else {
              const number = (model.at(-1) ?? 0) - operation.back;
              model = model.filter((entry) => entry <= number);
              index.truncate(key, number);
            }
          }
        });
        for (const query of [0, ...queries]) {
          const from = 2 ** 33 + query;
          const above = model.filter((entry) => entry >= from);
          expect(index.firstFrom(key, from)).toBe(above[0]);
          const chunk = index.chunkFrom(key, from) ?? [];
          expect(chunk).toEqual(above.slice(0, chunk.length));
          expect(chunk.length === 0).toBe(above.length === 0);
        }
      }),
      { numRuns: 60, seed: 5 },
    );
    for (const key of neighbours) expect(index.chunkFrom(key, 0)).toEqual([77]);
  });

  it("loses whole chunks of old numbers when it is pruned upwards, and goes on", () => {
    const table = newTable();
    const index = new BlockListIndex(table);
    let run = 0;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 400 }), fc.nat(500), fc.nat(300)), { minLength: 1, maxLength: 6 }),
        (rounds) => {
          const key = Uint8Array.of(7, run >> 8, run++);
          let numbers: number[] = [];
          let floor = 0;
          let next = 1;
          environment.atomically(() => {
            for (const [appended, pruned, truncated] of rounds) {
              for (let i = 0; i < appended; i++) index.append(key, (numbers[numbers.length] = next += 1 + (i % 3)));
              const target = Math.max(floor, next - pruned);
              for (const number of numbers) {
                if (number > floor && number <= target) index.dropChunkEndingAt(key, number);
              }
              floor = target;
              next = Math.max(floor, next - truncated);
              index.truncate(key, next);
              numbers = numbers.filter((number) => number <= next);
              const kept = numbers.filter((number) => number > floor);
              const found: number[] = [];
              for (let chunk = index.chunkFrom(key, floor + 1); chunk !== undefined; ) {
                found.push(...chunk);
                chunk = index.chunkFrom(key, found.at(-1)! + 1);
              }
              expect(found).toEqual(kept);
              for (const number of [floor + 1, floor + 30, Math.max(floor + 1, next)]) {
                expect(index.firstFrom(key, number)).toBe(kept.find((entry) => entry >= number));
              }
            }
          });
          const rows = [...table.keysWithPrefix(key)].length;
          expect(rows).toBeLessThanOrEqual(2 + numbers.filter((number) => number > floor).length / 220);
        },
      ),
      { numRuns: 60, seed: 7 },
    );
  });

  it("ignores a number that is there and refuses one below the last", () => {
    const index = new BlockListIndex(newTable());
    const key = Uint8Array.of(9);
    environment.atomically(() => {
      index.append(key, 5);
      index.append(key, 5);
    });
    expect(index.chunkFrom(key, 0)).toEqual([5]);
    expect(() => environment.atomically(() => index.append(key, 4))).toThrow(
      expect.objectContaining({ code: "storage/corrupted" }),
    );
  });
});

describe("LogIndex", () => {
  const addresses = Array.from({ length: 5 }, (_, i) => keccak256(Uint8Array.of(i)).subarray(12));
  const topics = Array.from({ length: 4 }, (_, i) => keccak256(Uint8Array.of(i, 1)));
  const log = fc.tuple(fc.nat(4), fc.array(fc.nat(3), { maxLength: 4 })).map(
    ([address, topicIndices]): Log => ({
      address: addresses[address]!,
      topics: topicIndices.map((index) => topics[index]!),
      data: new Uint8Array(0),
    }),
  );
  const pick = <T>(from: readonly T[]): fc.Arbitrary<T[] | undefined> => fc.option(fc.subarray([...from]), { nil: undefined });
  const filter = fc.record({
    addresses: pick(addresses),
    topics: fc.option(fc.array(pick(topics), { maxLength: 4 }), { nil: undefined }),
  });

  it("names every block with a matching log, and none that misses a condition", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(log, { maxLength: 3 }), { maxLength: 60 }),
        fc.array(filter, { maxLength: 8 }),
        fc.nat(10),
        (blocks, filters, removed) => {
          const index = new LogIndex(newTable());
          environment.atomically(() => {
            const batch = new LogBatch();
            blocks.forEach((logs, number) => {
              batch.add(number, [{ logs }, { logs: logs.slice(1) }]);
              if (number % 3 < 2) return; // several blocks in one batch, which is then reused
              index.append(batch);
              batch.clear();
            });
            index.append(batch);
            for (let i = 0; i < removed && blocks.length > 0; i++) index.remove(blocks.length - 1, blocks.pop()!);
          });
          for (const wanted of filters) {
            const found = [...index.blocks(wanted, 2, 50)];
            const expected = blocks.flatMap((logs, number) => {
              const has = (values: readonly Uint8Array[] | undefined, of: (log: Log) => Uint8Array | undefined): boolean =>
                values === undefined || values.length === 0 || logs.some((entry) => values.some((value) => value === of(entry)));
              const isIn = number >= 2 && number <= 50;
              const matches =
                has(wanted.addresses, ({ address }) => address) &&
                (wanted.topics ?? []).every((alternatives, place) => has(alternatives, ({ topics: own }) => own[place]));
              return isIn && matches ? [number] : [];
            });
            const isUnconditional = ![wanted.addresses, ...(wanted.topics ?? [])].some(
              (values) => values !== undefined && values.length > 0,
            );
            if (isUnconditional) expect(found).toEqual(Array.from({ length: 49 }, (_, i) => i + 2));
            else expect(found).toEqual(expected);
          }
        },
      ),
      { numRuns: 40, seed: 11 },
    );
  });
});
