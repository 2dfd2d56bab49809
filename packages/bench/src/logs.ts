import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { type LogFilter, PROFILE_R, queryLogs, type ReadBackend, UNLIMITED_WORK } from "@rnode/eth-api";
import { keccak256, padBytesLeft, ZERO_HASH } from "@rnode/primitives";
import { hashHeader, type Log, logsBloom, mergeBlooms, type Receipt, signTransaction } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { type BlockCommit, type ChainDatabase, openChainStore } from "@rnode/storage";
import { benchOptions } from "./bench-options.ts";
import { median } from "./rpc-report.ts";

/*
 * `npm run bench -- logs`: eth_getLogs over 10,000 blocks, by addresses and topics that are rare or frequent, in this process. The blocks are written
 * as they are, without being executed: 20 transactions with a log each, all of the same few contracts, most topics different.
 */

const BLOCKS = 10_000;
const LOGS_PER_BLOCK = 20;
const BLOCKS_PER_COMMIT = 250;
const KEY = new Uint8Array(32).fill(0x11);

const number32 = (value: number): Uint8Array => padBytesLeft(Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value), 32);
const address = (seed: number): Uint8Array => keccak256(number32(seed)).subarray(12);
const topic = (seed: number): Uint8Array => keccak256(number32(0x1000_0000 + seed));

/** in every block, nineteen times */
const TOKEN = address(1);
/** in every 500th block */
const RARE = address(2);
const TRANSFER = topic(1);
/** somebody who sends once in 100 blocks */
const SENDER = topic(2);

function logOf(block: number, index: number): Log {
  const isRare = index === 7 && block % 500 === 0;
  const from = index === 3 && block % 100 === 0 ? SENDER : topic(block * LOGS_PER_BLOCK + index + 10);
  return {
    address: isRare ? RARE : TOKEN,
    topics: [TRANSFER, from, topic(-block * LOGS_PER_BLOCK - index)],
    data: number32(block),
  };
}

function writeChain(folder: string): Promise<void> {
  const store = openChainStore(folder, { sync: "interval" });
  const transactions = Array.from({ length: LOGS_PER_BLOCK }, (_, index) =>
    signTransaction(
      {
        type: 2,
        chainId: 1n,
        nonce: BigInt(index),
        maxFeePerGas: 9n,
        maxPriorityFeePerGas: 1n,
        gasLimit: 90_000n,
        to: TOKEN,
        value: 0n,
        data: number32(index),
        accessList: [],
      } as const,
      KEY,
    ),
  );
  const senders = transactions.map(() => address(3));
  let parentHash: Uint8Array = ZERO_HASH;
  const commitOf = (number: number): BlockCommit => {
    const receipts: Receipt[] =
      number === 0
        ? []
        : transactions.map(({ type }, index) => {
            const logs = [logOf(number, index)];
            return { type, status: 1, cumulativeGasUsed: BigInt(50_000 * (index + 1)), logs, bloom: logsBloom(logs) };
          });
    const header = headerOf({
      number,
      parentHash,
      timestamp: 1_700_000_000 + 2 * number,
      logsBloom: mergeBlooms(receipts.map(({ bloom }) => bloom)),
    });
    const hash = hashHeader(header);
    parentHash = hash;
    const block = { header, transactions: number === 0 ? [] : transactions, ommers: [], withdrawals: [] };
    return {
      block,
      hash,
      receipts,
      senders: number === 0 ? [] : senders,
      changes: { accounts: [], codes: [] },
      storageRoots: new Map(),
      nodes: [],
    };
  };
  store.writeGenesis(commitOf(0));
  for (let number = 1; number <= BLOCKS; number += BLOCKS_PER_COMMIT) {
    store.reorganize(
      number - 1,
      Array.from({ length: BLOCKS_PER_COMMIT }, (_, index) => commitOf(number + index)),
    );
  }
  return store.close();
}

interface Query extends Pick<LogFilter, "addresses" | "topics"> {
  readonly name: string;
  /** default: all */
  readonly blocks?: number;
}

const MANY = Array.from({ length: 999 }, (_, index) => topic((1 + index) * 10 * LOGS_PER_BLOCK + 12));
const QUERIES: readonly Query[] = [
  { name: "a rare contract", addresses: [RARE], topics: [] },
  { name: "a rare sender of a frequent contract", addresses: [TOKEN], topics: [[TRANSFER], [SENDER]] },
  { name: "the same by topic alone", addresses: undefined, topics: [undefined, [SENDER]] },
  { name: "a thousand senders", addresses: undefined, topics: [undefined, [SENDER, ...MANY]] },
  { name: "nobody at a frequent contract", addresses: [TOKEN], topics: [undefined, [topic(-7)]] },
  { name: "a frequent contract", blocks: 500, addresses: [TOKEN], topics: [] },
];

/** What a query needs of a chain. */
function backendOf(store: ChainDatabase): ReadBackend {
  const head = store.head()!;
  const chain: Pick<ReadBackend["chain"], "head" | "partsOf"> = {
    head: () => head,
    partsOf: (selector) => {
      const hash = selector.kind === "number" ? store.readCanonicalHash(selector.number) : undefined;
      return hash && store.readParts(hash);
    },
  };
  return { profile: PROFILE_R, chain: chain as ReadBackend["chain"], store };
}

export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("logs", args, {
    rounds: { type: "string", default: "20", help: "runs of each row, of which the median counts" },
  });
  const rounds = Number(values.rounds);
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-logs-"));
  try {
    const startMs = performance.now();
    await writeChain(folder);
    console.error(`${BLOCKS} blocks with ${LOGS_PER_BLOCK} logs each: ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
    const store = openChainStore(folder, { readOnly: true });
    const backend = backendOf(store);
    const limits = { maxBlocks: 100_000, maxLogs: 20_000 };
    const rows = await Promise.all(
      QUERIES.map(async ({ name, blocks = BLOCKS, addresses, topics }) => {
        const range = { fromBlock: { kind: "number", number: 1 }, toBlock: { kind: "number", number: blocks } } as const;
        const query = async () => {
          return await queryLogs(backend, UNLIMITED_WORK, { addresses, topics, blockHash: undefined, ...range }, limits);
        };
        return { name, blocks, query };
      }),
    );
    for (const { name, blocks, query } of rows) {
      const found = ((await query()).toJSON() as unknown[]).length;
      const times: number[] = [];
      for (let round = 0; round < rounds; round++) {
        store.refresh();
        const fromMs = performance.now();
        await query();
        times.push(performance.now() - fromMs);
      }
      console.log(
        `${name.padEnd(44)} ${String(blocks).padStart(6)} blocks, ${String(found).padStart(6)} logs: ${median(times).toFixed(1)} ms`,
      );
    }
    console.log(
      `load ${loadavg()
        .map((value) => value.toFixed(1))
        .join(", ")}`,
    );
    await store.close();
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
