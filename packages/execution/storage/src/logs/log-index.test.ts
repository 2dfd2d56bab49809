import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Log } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Environment } from "../database/environment.ts";
import type { Table, TableEntry } from "../database/table.ts";
import { LogBatch, LogIndex } from "./log-index.ts";

/*
 * A million blocks. The time of a query must be proportional to its result. It is measured in read rows, which do not depend on
 * the machine's speed.
 */

const BLOCKS = 1_000_000;
/** numbers in a row of the index */
const CHUNK = 220;
const address = (item: number): Uint8Array => new Uint8Array(20).fill(item);
const topic = (item: number): Uint8Array => new Uint8Array(32).fill(item);
const log = (from: number, ...topics: number[]): Log => ({
  address: address(from),
  topics: topics.map(topic),
  data: new Uint8Array(0),
});

/** in every block */
const TOKEN = log(1, 1);
/** in every second block: the same event of another contract */
const OTHER_TOKEN = log(2, 1);
/** every 1000th block: a rare event of the busy contract */
const RARE = log(1, 2);
/** every 100,000th block: the busy contract's busy event, with a rare topic */
const ABOUT = log(1, 1, 3);
/** only in the very last block */
const LAST = log(4, 4);

let folder: string;
let environment: Environment;
let index: LogIndex;
let rowsRead = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-logs-"));
  environment = new Environment(folder, { readOnly: false, mapSizeBytes: undefined, sync: "interval", syncIntervalMs: 60_000 });
  const table = environment.openTable("logs")!;
  const counting = new Proxy(table, {
    get(target, name) {
      const own = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      if (name !== "firstFrom" && name !== "peek" && name !== "read") return own.bind(target);
      return (...args: [Uint8Array]): TableEntry | Uint8Array | undefined => {
        rowsRead++;
        return own.apply(target, args) as TableEntry | Uint8Array | undefined;
      };
    },
  }) as Table;
  index = new LogIndex(counting);
  const logsOf = (number: number): Log[] => [
    TOKEN,
    ...(number % 2 === 0 ? [OTHER_TOKEN] : []),
    ...(number % 1000 === 0 ? [RARE] : []),
    ...(number % 100_000 === 0 ? [ABOUT] : []),
    ...(number === BLOCKS - 1 ? [LAST] : []),
  ];
  for (let from = 0; from < BLOCKS; from += 50_000) {
    const batch = new LogBatch();
    for (let number = from; number < from + 50_000; number++) batch.add(number, [{ logs: logsOf(number) }]);
    environment.atomically(() => index.append(batch));
  }
});
afterAll(async () => {
  await environment.close();
});

function query(filter: Parameters<LogIndex["blocks"]>[0], from = 0, to = BLOCKS - 1): { blocks: number[]; rows: number } {
  rowsRead = 0;
  const blocks = [...index.blocks(filter, from, to)];
  return { blocks, rows: rowsRead };
}

describe("logs of a million blocks", () => {
  it.each([
    { name: "one contract's rare event", filter: { addresses: [address(1)], topics: [[topic(2)]] }, found: 1000 },
    { name: "a rare event of any contract", filter: { topics: [[topic(2)]] }, found: 1000 },
    { name: "a busy event about somebody", filter: { addresses: [address(1)], topics: [[topic(1)], [topic(3)]] }, found: 10 },
    { name: "one log at the end", filter: { addresses: [address(4)] }, found: 1 },
    {
      name: "one of two contracts, one of which is quiet",
      filter: { addresses: [address(4), address(9)], topics: [[topic(4)]] },
      found: 1,
    },
    { name: "nothing: a contract that never logged", filter: { addresses: [address(9)], topics: [[topic(1)]] }, found: 0 },
    { name: "nothing: an event its contract does not have", filter: { addresses: [address(2)], topics: [[topic(4)]] }, found: 0 },
  ])("$name: $found blocks", ({ filter, found }) => {
    const { blocks, rows } = query(filter);
    expect(blocks).toHaveLength(found);
    // One or two rows for each condition and matching block, plus those that show there are no more.
    expect(rows).toBeLessThanOrEqual(4 * found + 12);
  });

  it("reads a row for every 220 blocks where all blocks match", () => {
    const { blocks, rows } = query({ addresses: [address(1)] });
    expect(blocks).toHaveLength(BLOCKS);
    expect(rows).toBeLessThanOrEqual(BLOCKS / CHUNK + 20 + 2);
  });

  it("does not read what comes before a range, nor after it", () => {
    const { blocks, rows } = query({ addresses: [address(1)] }, 700_000, 700_099);
    expect(blocks).toHaveLength(100);
    expect(rows).toBeLessThanOrEqual(2);
    expect(query({ addresses: [address(4)] }, 0, BLOCKS - 2)).toMatchObject({ blocks: [] });
  });

  it("costs no more in a longer chain for the same matches", () => {
    const filter = { addresses: [address(1)], topics: [[topic(1)], [topic(3)]] };
    const short = query(filter, 0, 100_000);
    const long = query(filter, 900_000, BLOCKS - 1);
    expect(short.blocks).toEqual([0, 100_000]);
    expect(long.blocks).toEqual([900_000]);
    expect(long.rows).toBeLessThanOrEqual(short.rows);
  });
});
