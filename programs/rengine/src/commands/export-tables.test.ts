import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { assemble, deposit } from "@rnode/eth-api/testing";
import { bytesToHex, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import { encodeTransaction } from "@rnode/protocol";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { COLUMNS, TABLES, type Table } from "../export/columns.ts";
import { openDatabase } from "../setup/database.ts";
import { describeError } from "../setup/describe-error.ts";
import { signTransfer } from "../testing/clients-of-test.ts";
import { startTestClient, type TestClient } from "../testing/test-client.ts";
import { CALLEE_CREATION } from "../testing/trace-scenarios.ts";
import { exportBlocks } from "./export.ts";

const POOR: Hex = `0x${"5a".repeat(20)}`;
const ALL = `--tables=${TABLES.join(",")}`;

type Row = Record<string, unknown>;

/** Runs the command on the client's folder, as `main` does. @returns its last line */
async function exported(node: TestClient, ...args: string[]): Promise<string> {
  const lines: string[] = [];
  const io = { out: (line: string) => lines.push(line), err: (line: string) => lines.push(line), progress: () => {} };
  const own = [`--datadir=${join(node.folder, "data")}`, `--chain=${join(node.folder, "genesis.json")}`];
  try {
    await exportBlocks([...own, ...args], {}, io);
  } catch (error) {
    return describeError(error) ?? Promise.reject(error);
  }
  return lines.join("\n");
}

const newFolder = (): string => mkdtempSync(join(tmpdir(), "rengine-export-"));

async function newChain(...args: string[]): Promise<TestClient> {
  const node = await startTestClient(args);
  onTestFinished(() => node.remove());
  return node;
}

/** Builds a sibling of the head. */
async function replaceHead(node: TestClient): Promise<void> {
  const { parentHash } = await node.rpc.call<{ parentHash: Hex }>("eth_getBlockByNumber", ["latest", false]);
  const { timestamp } = await node.rpc.call<{ timestamp: Hex }>("eth_getBlockByHash", [parentHash, false]);
  await node.buildBlock({ parent: { hash: parentHash, timestampSec: Number(timestamp) }, noTxPool: true });
}

/** All rows of a table, from the files in the order of their names. */
const rowsIn = (folder: string, table: Table): Row[] =>
  readdirSync(join(folder, table))
    .sort()
    .flatMap((file) =>
      readFileSync(join(folder, table, file), "utf8")
        .trimEnd()
        .split("\n"),
    )
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Row);

async function query(sql: string): Promise<Row[]> {
  const connection = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}

describe("rengine export --format", () => {
  let node: TestClient;
  let json: string;
  let parquet: string;
  const rpc = <T = Row>(method: string, ...params: unknown[]): Promise<T> => node.rpc.call<T>(method, params);

  beforeAll(async () => {
    node = await startTestClient(["--http.api=eth,trace,txpool"]);
    await node.buildBlock();
    const creation = await rpc<Hex>(
      "eth_sendRawTransaction",
      await signTransfer(0, { to: null, data: CALLEE_CREATION, gas: 1_000_000n }),
    );
    await node.buildBlock();
    const { contractAddress: to } = await rpc<{ contractAddress: Hex }>("eth_getTransactionReceipt", creation);
    const calls = [0, 1, 7, 9].map((item, index) =>
      signTransfer(1 + index, { to, data: `0x0${item}`, gas: 200_000n, accessList: [{ address: to, storageKeys: [] }] }),
    );
    for (const raw of calls) await rpc("eth_sendRawTransaction", await raw);
    await rpc(
      "eth_sendRawTransaction",
      await signTransfer(5, { type: "legacy", gasPrice: 10n ** 10n, maxFeePerGas: undefined, value: 12n }),
    );
    const fields = { from: hexToBytes(POOR), gasLimit: 300_000n };
    const deposits = [
      deposit({
        ...fields,
        sourceHash: new Uint8Array(32).fill(0x90),
        mint: 7n,
        value: 3n,
        to: undefined,
        data: assemble("1 0 MSTORE8 1 0 RETURN"),
      }),
      deposit({ ...fields, sourceHash: new Uint8Array(32).fill(0x91), to: hexToBytes(to), value: 2n ** 256n - 1n }), // fails: nobody has as much
    ];
    await node.buildBlock({ transactions: deposits.map((tx) => bytesToHex(encodeTransaction(tx))) });
    await node.buildBlock();
    [json, parquet] = [newFolder(), newFolder()];
    for (const [format, folder] of [
      ["ndjson", json],
      ["parquet", parquet],
    ] as const) {
      expect(await exported(node, `--format=${format}`, ALL, "--blocks-per-file=3", folder)).toBe(`exported 5 blocks to ${folder}`);
    }
    return () => node.remove();
  });

  it("beside a running client, writes files by ranges of blocks", () => {
    for (const table of TABLES) {
      const names = [`${table}_000000000_000000002`, `${table}_000000003_000000004`];
      expect(readdirSync(join(json, table)).sort()).toEqual(names.map((name) => `${name}.ndjson`));
      expect(readdirSync(join(parquet, table)).sort()).toEqual(names.map((name) => `${name}.parquet`));
    }
  });

  it("has what JSON-RPC shows", async () => {
    const block = await rpc("eth_getBlockByNumber", "0x3", true);
    const receipts = await rpc<Row[]>("eth_getBlockReceipts", "0x3");
    const traces = await rpc<{ action: Row; traceAddress: number[]; type: string; error?: string }[]>("trace_block", "0x3");
    const of = (table: Table): Row[] => rowsIn(json, table).filter(({ block_number: number }) => number === 3);
    expect(of("blocks")).toMatchObject([
      {
        block_hash: block.hash,
        parent_hash: block.parentHash,
        block_timestamp: Number(block.timestamp),
        base_fee_per_gas: String(BigInt(block.baseFeePerGas as Hex)),
        gas_used: Number(block.gasUsed),
        transaction_count: receipts.length,
      },
    ]);
    expect(of("transactions").map(({ transaction_hash: hash, value }) => [hash, value])).toEqual(
      (block.transactions as Row[]).map(({ hash, value }) => [hash, String(BigInt(value as Hex))]),
    );
    expect(of("transactions").slice(0, 3)).toMatchObject([
      { transaction_type: 126, is_system_transaction: false, mint: "0", max_fee_per_gas: null },
      { source_hash: `0x${"90".repeat(32)}`, mint: "7", value: "3", to_address: null, from_address: POOR, nonce: 0 },
      { source_hash: `0x${"91".repeat(32)}`, value: String(2n ** 256n - 1n) },
    ]);
    expect(of("transactions")[3]).toMatchObject({
      transaction_type: 2,
      source_hash: null,
      is_system_transaction: null,
      mint: null,
    });
    expect(JSON.parse(of("transactions")[3]!.access_list as string)).toEqual((block.transactions as Row[])[3]!.accessList);
    expect(
      of("receipts").map((row) => [
        row.transaction_hash,
        row.l1_fee,
        row.gas_used,
        row.status,
        row.contract_address,
        row.deposit_nonce,
      ]),
    ).toEqual(
      receipts.map((one) => [
        one.transactionHash,
        String(BigInt(one.l1Fee as Hex)),
        Number(one.gasUsed),
        Number(one.status),
        one.contractAddress,
        one.depositNonce === undefined ? null : Number(one.depositNonce),
      ]),
    );
    expect(of("receipts")[3]!.l1_fee).not.toBe("0");
    const logs = receipts.flatMap(({ logs }) => logs as { logIndex: Hex; topics: Hex[]; data: Hex }[]);
    expect(logs).not.toEqual([]);
    expect(of("logs").map((row) => [row.log_index, row.topic0, row.topic1, row.data])).toEqual(
      logs.map(({ logIndex, topics, data }) => [Number(logIndex), topics[0], null, data]),
    );
    expect(of("traces").map((row) => [row.trace_address, row.trace_type, row.from_address, row.error])).toEqual(
      traces.map(({ traceAddress, type, action, error = null }) => [
        traceAddress.join(","),
        type,
        action.from ?? action.address,
        error,
      ]),
    );
    expect(of("traces")).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ trace_type: "create", output: "0x01", to_address: of("receipts")[1]!.contract_address }),
        expect.objectContaining({ trace_type: "call", call_type: "call", trace_address: "0", error: "Reverted" }),
        expect.objectContaining({ trace_type: "suicide", trace_address: "0", transaction_index: 5 }),
      ]),
    );
  });

  it.each(TABLES)("writes the same %s as Parquet, as DuckDB reads it", async (table) => {
    const columns = COLUMNS[table].map(
      ({ name, type }) => `${name}: '${type === "int" ? "BIGINT" : type === "bool" ? "BOOLEAN" : "VARCHAR"}'`,
    );
    const asJson = `SELECT * FROM read_json('${json}/${table}/*.ndjson', columns = {${columns.join(", ")}})`;
    const asParquet = `SELECT * FROM '${parquet}/${table}/*.parquet'`;
    const rows = rowsIn(json, table).length;
    expect(rows).toBeGreaterThan(0);
    expect(await query(`SELECT count(*) AS n FROM (${asParquet})`)).toEqual([{ n: String(rows) }]);
    for (const [one, other] of [
      [asJson, asParquet],
      [asParquet, asJson],
    ]) {
      expect(await query(`${one} EXCEPT ALL ${other}`)).toEqual([]);
    }
  });

  it("lets DuckDB join the tables and add up fees", async () => {
    const from = (table: Table): string => `'${parquet}/${table}/*.parquet'`;
    const [sum] = await query(
      `SELECT sum(l1_fee::HUGEINT) AS fees, count(*) AS n FROM ${from("transactions")} JOIN ${from("receipts")} USING (transaction_hash, block_hash)`,
    );
    let fees = 0n;
    for (let number = 1; number <= 4; number++) {
      for (const { l1Fee } of await rpc<{ l1Fee: Hex }[]>("eth_getBlockReceipts", toQuantity(number))) fees += BigInt(l1Fee);
    }
    expect(sum).toEqual({ fees: String(fees), n: String(rowsIn(json, "receipts").length) });
  });

  it("names every column in the guide", () => {
    const guide = readFileSync(new URL("../../../../docs/guide/getting-data-out.md", import.meta.url), "utf8");
    for (const table of TABLES) for (const { name } of COLUMNS[table]) expect(guide).toContain(`\`${name}\``);
  });

  it.each<[string, string[], RegExp]>([
    ["another format", ["--format=parquet"], /has an export of .*"ndjson".*name another folder$/],
    ["other tables", ["--format=ndjson", "--tables=logs"], /has an export of .*name another folder$/],
    ["a gap", ["--format=ndjson", ALL, "--from=7"], /^--from: the folder has blocks 0 to 4; leave --from out to go on with 5/],
    ["a block above the head", ["--format=ndjson", ALL, "--to=9"], /^--to: block 9 is above the head, 4$/],
    ["no safe block", ["--format=ndjson", ALL, "--to=safe"], /^--to: the database has no safe block yet$/],
  ])("refuses %s in the same folder", async (_, args, error) => {
    expect(await exported(node, ...args, json)).toMatch(error);
  });

  it("needs --format for the options of tables, and --chain for the format", async () => {
    expect(await exported(node, "--tables=logs", join(newFolder(), "blocks.rlp"))).toMatch(/--tables .*--format/);
    const io = { out() {}, err() {}, progress() {} };
    const args = [`--datadir=${join(node.folder, "data")}`, "--format=ndjson", newFolder()];
    await expect(exportBlocks(args, {}, io)).rejects.toThrow(/--format needs --chain/);
  });
});

describe("resuming rengine export", () => {
  it("goes on after the last complete file, whatever a kill left behind", async () => {
    const node = await newChain();
    for (let i = 0; i < 3; i++) await node.buildBlock();
    const folder = newFolder();
    const run = () => exported(node, "--format=ndjson", "--blocks-per-file=2", folder);
    expect(await run()).toBe(`exported 4 blocks to ${folder}`);
    expect(await run()).toBe(`exported 0 blocks to ${folder}`);
    await node.buildBlock();
    // killed after some files of the next range got their names, and within a line of the manifest
    const left = ["logs/logs_000000004_000000005.ndjson", "blocks/blocks_000000004_000000005.ndjson.partial"].map((name) =>
      join(folder, name),
    );
    for (const path of left) writeFileSync(path, "{}\n");
    appendFileSync(join(folder, "manifest.ndjson"), '{"from":4,');
    expect(await run()).toBe(`exported 1 blocks to ${folder}`);
    expect(left.filter(existsSync)).toEqual([]);
    await node.buildBlock();
    expect(await run()).toBe(`exported 1 blocks to ${folder}`);
    expect(rowsIn(folder, "blocks").map(({ block_number: number }) => number)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(readdirSync(join(folder, "blocks")).at(-1)).toBe("blocks_000000005_000000005.ndjson");
    const lines = readFileSync(join(folder, "manifest.ndjson"), "utf8").trimEnd().split("\n");
    const ranges = lines
      .slice(1)
      .map((line) => JSON.parse(line) as { from: number; to: number; parent_hash: string; hash: string });
    expect(ranges.map(({ from, to }) => [from, to])).toEqual([
      [0, 1],
      [2, 3],
      [4, 4],
      [5, 5],
    ]);
    expect(ranges.slice(1).map(({ parent_hash: parent }) => parent)).toEqual(ranges.slice(0, -1).map(({ hash }) => hash));
  });

  it("names blocks that a reorganisation replaced, and replaces their files if it may", async () => {
    const node = await newChain();
    for (let i = 0; i < 4; i++) await node.buildBlock();
    const folder = newFolder();
    const run = (...args: string[]) => exported(node, "--format=ndjson", "--blocks-per-file=2", ...args, folder);
    await run();
    const old = rowsIn(folder, "blocks").map(({ block_hash: hash }) => hash);
    await replaceHead(node);
    await node.buildBlock();
    const { hash } = await node.rpc.call<{ hash: Hex }>("eth_getBlockByNumber", ["0x4", false]);
    const what = `a reorganisation has replaced block 4 ${String(old[4])}, which was exported, by ${hash}`;
    expect(await run()).toBe(`${what}: the files from block 4 on are wrong; run again with --rewind to replace them`);
    expect(rowsIn(folder, "blocks")[4]!.block_hash).toBe(old[4]);
    expect(await run("--rewind")).toBe(`${what}: replacing the files from block 4 on\nexported 2 blocks to ${folder}`);
    const rows = rowsIn(folder, "blocks");
    expect(rows.map(({ block_hash: own }) => own).slice(0, 5)).toEqual([...old.slice(0, 4), hash]);
    expect(rows.slice(1).map(({ parent_hash: parent }) => parent)).toEqual(rows.slice(0, -1).map(({ block_hash: own }) => own));
  });

  it("names history that the database has no more", async () => {
    const node = await newChain();
    for (let i = 0; i < 132; i++) await node.buildBlock({ noTxPool: true });
    await node.close();
    const store = openDatabase(join(node.folder, "data"));
    store.pruneHistory(128, 1_000_000);
    await store.close();
    const oldest = "is below 5, the oldest block whose receipts the database still has";
    expect(await exported(node, "--format=ndjson", newFolder())).toBe(`--from: block 0 ${oldest}`);
    const folder = newFolder();
    expect(await exported(node, "--format=ndjson", "--from=5", folder)).toBe(`exported 128 blocks to ${folder}`);
  });
});
