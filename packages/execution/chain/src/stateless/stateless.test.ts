import { bytesToHex, exactInteger, keccak256, padBytesLeft } from "@rnode/primitives";
import {
  attributesToJson,
  decodeHeader,
  encodeHeader,
  encodeTransaction,
  exactNumber,
  exactTimestamp,
  positionFields,
} from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newEngine } from "../execute/engine-module.ts";
import { genesisBlock } from "../genesis/genesis.ts";
import {
  attributesFor,
  build,
  type DevChain,
  devConfig,
  devGenesis,
  LOGGER,
  openDevChain,
  transaction,
} from "../testing/dev-chain.ts";
import { executeStateless, parseBlockFile } from "./stateless.ts";
import { witnessState } from "./witness-state.ts";

let dev: DevChain;
beforeEach(() => {
  dev = openDevChain("jovian");
});
afterEach(() => dev.remove());

/** The first block of the dev chain as a block file. Its witness is the whole genesis state. */
function blockFile() {
  const data = padBytesLeft(Uint8Array.of(5), 32);
  const transactions = [
    ...attributesFor(dev, 1).transactions!,
    encodeTransaction(transaction(0, 0, { to: LOGGER, value: 0n, data })),
  ];
  const { block, hash } = build(dev, 1, { transactions });
  const genesis = genesisBlock(devGenesis("jovian"), devConfig("jovian"));
  const forkTimes = { regolith: 0, canyon: 0, ecotone: 0, fjord: 0, granite: 0, holocene: 0, isthmus: 0, jovian: 0, karst: null };
  const file: Record<string, unknown> = {
    chain: {
      chainId: 901,
      l1ChainId: 900,
      blockTime: 2,
      genesisTime: 1000,
      eip1559: { elasticity: 6, denominator: 50, denominatorCanyon: 250 },
      forkTimes,
    },
    parentHeaderRlp: bytesToHex(encodeHeader(genesis.block.header)),
    parentHash: bytesToHex(genesis.hash),
    payloadAttributes: attributesToJson(attributesFor(dev, 1, { transactions })),
    witness: {
      state: genesis.nodes.map(({ rlp }) => bytesToHex(rlp!)),
      codes: genesis.changes.codes.map(({ code }) => bytesToHex(code)),
      keys: [],
      headers: [bytesToHex(encodeHeader(genesis.block.header))],
    },
    expectedBlockHash: bytesToHex(hash),
    expectedHeaderRlp: bytesToHex(encodeHeader(block.header)),
    gasUsed: Number(block.header.gasUsed),
  };
  return { file, block, hash };
}

describe("executeStateless", () => {
  it("gives the block that the node built on its database", () => {
    const { file, hash } = blockFile();
    const { executed, mismatches } = executeStateless(parseBlockFile(file), { engine: newEngine() });
    expect(bytesToHex(executed.hash)).toBe(bytesToHex(hash));
    expect(mismatches).toEqual([]);
  });

  it("says what differs from what the file expects", () => {
    const { file } = blockFile();
    const wrong = { ...file, expectedBlockHash: `0x${"00".repeat(32)}`, gasUsed: 1, number: 2 };
    const fields = executeStateless(parseBlockFile(wrong), { engine: newEngine() }).mismatches.map(({ field }) => field);
    expect(fields).toEqual(["blockHash", "number", "gasUsed"]);
  });

  it("is exact at numbers and timestamps of 64 bits, and in what it compares", () => {
    const { file } = blockFile();
    const { header: genesis } = genesisBlock(devGenesis("jovian"), devConfig("jovian")).block;
    const parent = encodeHeader({ ...genesis, ...positionFields(2n ** 64n - 2n, 2n ** 64n - 3n) });
    const late = {
      ...file,
      parentHeaderRlp: bytesToHex(parent),
      parentHash: bytesToHex(keccak256(parent)),
      payloadAttributes: { ...(file.payloadAttributes as object), timestamp: "0xfffffffffffffffe" },
      expectedBlockHash: undefined,
      expectedHeaderRlp: undefined,
      gasUsed: undefined,
      number: "18446744073709551615",
      timestamp: "0xfffffffffffffffe",
    };
    const parsed = parseBlockFile(late);
    const { executed, mismatches } = executeStateless(parsed, { engine: newEngine() });
    expect(mismatches).toEqual([]);
    const { header } = executed.block;
    expect([exactNumber(header), exactTimestamp(header)]).toEqual([2n ** 64n - 1n, 2n ** 64n - 2n]);
    expect(decodeHeader(encodeHeader(header))).toEqual(header);
    const other = { ...header, ...positionFields(2n ** 64n - 2n, 2n ** 64n - 1n) };
    const compared = executeStateless({ ...parsed, expected: { ...parsed.expected, header: other } }, { engine: newEngine() });
    expect(compared.mismatches).toEqual([
      { field: "header.number", expected: "0xfffffffffffffffe", computed: "0xffffffffffffffff" },
      { field: "header.timestamp", expected: "0xffffffffffffffff", computed: "0xfffffffffffffffe" },
    ]);
  });

  it("finds the hashes of ancestors whose numbers no JavaScript number can be", () => {
    const headers: Uint8Array[] = [];
    let parentHash = new Uint8Array(32);
    const first = 2n ** 53n - 2n;
    for (let number = first; number < first + 6n; number++) {
      const encoded = encodeHeader({ ...headerOf({ parentHash }), ...positionFields(number, number) });
      headers.push(encoded);
      parentHash = Uint8Array.from(keccak256(encoded));
    }
    const newest = decodeHeader(headers.at(-1)!);
    const { reader } = witnessState(newest, parentHash, { state: [], codes: [], headers });
    for (const [index, encoded] of headers.entries()) {
      expect(reader.readBlockHash(exactInteger(first + BigInt(index)))).toEqual(keccak256(encoded));
    }
    expect(reader.readBlockHash(exactInteger(first + 6n))).toBeUndefined();
  });

  it("needs nothing expected, and takes the witness as maps too", () => {
    const { file, hash } = blockFile();
    const { state, codes } = file.witness as { state: string[]; codes: string[] };
    const asMap = (items: string[]) => Object.fromEntries(items.map((item, index) => [String(index), item]));
    const bare = {
      ...file,
      witness: { state: asMap(state), codes: asMap(codes) },
      expectedBlockHash: undefined,
      expectedHeaderRlp: undefined,
    };
    expect(executeStateless(parseBlockFile(bare), { engine: newEngine() }).executed.hash).toEqual(hash);
  });

  it("misses a node, a code or a valid transaction with an error that says so", () => {
    const { file } = blockFile();
    const witness = file.witness as { state: string[]; codes: string[] };
    const without = (changes: object) => () =>
      executeStateless(parseBlockFile({ ...file, witness: { ...witness, ...changes } }), { engine: newEngine() });
    expect(without({ state: [] })).toThrow(expect.objectContaining({ code: "trie/missing-node" }));
    expect(without({ codes: [] })).toThrow(expect.objectContaining({ code: "chain/missing-code" }));
    const attributes = file.payloadAttributes as { transactions: string[] };
    const bad = { ...attributes, transactions: [...attributes.transactions, bytesToHex(encodeTransaction(transaction(1, 9)))] };
    expect(() => executeStateless(parseBlockFile({ ...file, payloadAttributes: bad }), { engine: newEngine() })).toThrow(
      /^the file does not have the expected form: transaction 2 is not valid: transaction-rejected index=2 reason=nonce-too-high/,
    );
  });

  it.each<[string, (file: Record<string, unknown>) => object, RegExp]>([
    ["nothing", () => [], /^block: expected /],
    [
      "no parent",
      (file) => ({ ...file, parentHeaderRlp: null }),
      /^the file does not have the expected form: parentHeader or parentHeaderRlp is required/,
    ],
    [
      "another parent hash",
      (file) => ({ ...file, parentHash: `0x${"11".repeat(32)}` }),
      /^the file does not have the expected form: parentHash is not the hash/,
    ],
    ["no chain", (file) => ({ ...file, chain: undefined }), /^chain: expected /],
    ["a witness that is no hex", (file) => ({ ...file, witness: { state: ["zz"], codes: [] } }), /^witness.state\[0\]: expected /],
    ["no attributes", (file) => ({ ...file, payloadAttributes: {} }), /^payloadAttributes.timestamp: expected /],
  ])("refuses %s", (_, change, message) => {
    const { file } = blockFile();
    expect(() => parseBlockFile(change(file))).toThrow(message);
  });
});
