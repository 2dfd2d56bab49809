import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToBigint, bytesToHex, EMPTY_KECCAK, type Hex, hexToBytes, keccak256, padBytesLeft } from "@rnode/primitives";
import { decodeBlockPrefix, hashHeader } from "@rnode/protocol";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openRethData, type RethData } from "./open-reth-data.ts";
import { hasOpRethFixtures, OP_RETH_FOLDERS, type OpRethFixture, readOpRethFixture, unpackOpReth } from "./testing/index.ts";

const HEAD = 380;
const NAMES = Object.keys(OP_RETH_FOLDERS) as OpRethFixture[];

interface DumpLine {
  readonly address: Hex;
  readonly balance: Hex;
  readonly nonce: Hex;
  readonly code?: Hex;
  readonly storage?: Readonly<Record<Hex, Hex>>;
}

/** `accounts`: by keccak of the address; `slots`: by that and keccak of the slot */
interface State {
  readonly accounts: Map<string, string>;
  readonly slots: Map<string, string>;
}

const keccakHex = (hex: string): Hex => bytesToHex(keccak256(hexToBytes(hex)));
const accountText = (nonce: bigint, balance: bigint, codeHash: Uint8Array): string => `${nonce} ${balance} ${bytesToHex(codeHash)}`;
const slotText = (value: Uint8Array): string => bytesToHex(padBytesLeft(value, 32));

/** What the state dump says. */
function stateOfDump(lines: readonly DumpLine[]): State {
  const state: State = { accounts: new Map(), slots: new Map() };
  for (const { address, balance, nonce, code, storage = {} } of lines) {
    const codeHash = code === undefined ? EMPTY_KECCAK : keccak256(hexToBytes(code));
    state.accounts.set(keccakHex(address), accountText(BigInt(nonce), BigInt(balance), codeHash));
    for (const [slot, value] of Object.entries(storage)) {
      if (bytesToBigint(hexToBytes(value)) !== 0n) state.slots.set(`${keccakHex(address)} ${keccakHex(slot)}`, value);
    }
  }
  return state;
}

function stateOf(data: RethData): State {
  const state: State = { accounts: new Map(), slots: new Map() };
  for (const { addressHash, nonce, balance, codeHash } of data.accounts())
    state.accounts.set(bytesToHex(addressHash), accountText(nonce, balance, codeHash));
  for (const { addressHash, slotHash, value } of data.slots())
    state.slots.set(`${bytesToHex(addressHash)} ${bytesToHex(slotHash)}`, slotText(value));
  return state;
}

describe.skipIf(!hasOpRethFixtures("data directories of op-reth"))("data directories made by op-reth", () => {
  const folders = new Map<OpRethFixture, string>();
  let dump: DumpLine[];
  let blockHashes: Hex[];

  beforeAll(async () => {
    for (const name of NAMES) folders.set(name, await unpackOpReth(name));
    const lines = Buffer.from(await readOpRethFixture("state-380.jsonl.zst"))
      .toString()
      .trim()
      .split("\n");
    dump = lines.slice(1).map((line) => JSON.parse(line) as DumpLine);
    const blocks = await readOpRethFixture("blocks.rlp.zst");
    blockHashes = [];
    for (let at = 0; at < blocks.length; ) {
      const { block, end } = decodeBlockPrefix(blocks, at);
      blockHashes.push(bytesToHex(hashHeader(block.header)));
      at = end;
    }
  });

  /** Opens a copy, or the fixture itself, and closes it after `use`. */
  function withData<T>(folder: string, use: (data: RethData) => T): T {
    const data = openRethData(folder);
    try {
      return use(data);
    } finally {
      data.close();
    }
  }

  it.each(NAMES)("%s: all accounts, slots and codes of the dump, and no others", (name) => {
    withData(folders.get(name)!, (data) => {
      expect(data.counts).toEqual({ accounts: 2947, slots: 3761 });
      const state = stateOf(data);
      expect(state).toEqual(stateOfDump(dump));
      expect([state.accounts.size, state.slots.size]).toEqual([2947, 3761]);
      const codes = [...new Set(dump.map(({ code = "0x" }) => code))];
      expect(codes.map((code) => bytesToHex(data.code(keccak256(hexToBytes(code)))!))).toEqual(codes);
      expect(data.code(keccak256(hexToBytes("0x00")))).toBeUndefined();
    });
  });

  it.each(NAMES)("%s: all headers", (name) => {
    withData(folders.get(name)!, (data) => {
      const hashes = Array.from({ length: HEAD + 1 }, (_, number) => bytesToHex(hashHeader(data.header(number))));
      expect(hashes).toEqual(blockHashes);
      expect(data.head).toEqual({ number: HEAD, hash: hexToBytes(blockHashes[HEAD]!) });
      expect(() => data.header(HEAD + 1)).toThrow(/no header of block 381: .*_headers_0_499999 has blocks 0 to 380/);
      expect(() => data.header(500_000)).toThrow("no header of block 500000: no static file is for it");
    });
  });

  describe("refuses", () => {
    const copyOf = (name: OpRethFixture): string => {
      const folder = mkdtempSync(join(tmpdir(), "rnode-op-reth-copy-"));
      cpSync(folders.get(name)!, folder, { recursive: true });
      return folder;
    };
    /** Replaces bytes of the same length wherever they are. */
    const replace = (path: string, from: Uint8Array, to: Uint8Array): void => {
      const bytes = readFileSync(path);
      let count = 0;
      for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1), count++) bytes.set(to, at);
      expect(count).toBeGreaterThan(0);
      writeFileSync(path, bytes);
    };
    const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1");

    const CASES: readonly (readonly [what: string, name: OpRethFixture, edit: (folder: string) => void, message: RegExp])[] = [
      [
        "a version of the database",
        "v2",
        (folder) => writeFileSync(join(folder, "db/database.version"), "3"),
        /db\/database\.version is "3"; this program reads "2"$/,
      ],
      [
        "an empty version",
        "v2",
        (folder) => writeFileSync(join(folder, "db/database.version"), ""),
        /database\.version is ""; this program reads "2"$/,
      ],
      [
        "settings of a later version",
        "v2",
        (folder) => replace(join(folder, "db/mdbx.dat"), ascii('{"storage_v2":true}'), ascii('{"storage_v3":true}')),
        /storage_settings of .* is "\{\\"storage_v3\\":true\}"; this program reads/,
      ],
      [
        "another format of libmdbx",
        "v2",
        (folder) => replace(join(folder, "db/mdbx.dat"), hexToBytes("0x03114cefbd9d6559"), hexToBytes("0x04114cefbd9d6559")),
        /the format of .*mdbx\.dat is 4; this program reads 3$/,
      ],
      [
        "another version of a static file",
        "v2",
        (folder) => edit(join(folder, "static_files/static_file_headers_0_499999.conf"), (bytes) => bytes.set([2])),
        /the version of .*_headers_0_499999\.conf is 2; this program reads 1$/,
      ],
      [
        "another compressor",
        "v2",
        (folder) => edit(join(folder, "static_files/static_file_headers_0_499999.conf"), (bytes) => bytes.set([0], 63)),
        /\.conf is damaged at its start: compressor 0 instead of 1 \(LZ4\)$/,
      ],
      [
        "a folder without a database",
        "v2",
        (folder) => rmSync(join(folder, "db/mdbx.dat")),
        /is not a data directory of op-reth: it has no db\/mdbx\.dat$/,
      ],
      [
        "a folder without static files",
        "v2",
        (folder) => rmSync(join(folder, "static_files"), { recursive: true }),
        /is not a data directory of op-reth: it has no static_files$/,
      ],
      [
        "a missing file of offsets",
        "v2",
        (folder) => rmSync(join(folder, "static_files/static_file_headers_0_499999.off")),
        /_headers_0_499999\.off is damaged at its place in the folder: the file is missing$/,
      ],
      [
        "a missing file of headers",
        "v2",
        (folder) => rmSync(join(folder, "static_files/static_file_headers_0_499999")),
        /no header of block 380: no static file is for it$/,
      ],
      ["no folder", "v2", (folder) => rmSync(folder, { recursive: true }), /op-reth: there is no such folder$/],
      [
        "a node that was stopped midway",
        "v1",
        // MerkleExecute's row: the name, then flags and block number
        (folder) => replace(join(folder, "db/mdbx.dat"), ascii("MerkleExecute\x02\x01\x7c"), ascii("MerkleExecute\x02\x01\x7b")),
        /stop it with SIGINT: stage Execution is at block 380, stage MerkleExecute at 379$/,
      ],
      [
        "a node that never ran a stage",
        "v1",
        (folder) => replace(join(folder, "db/mdbx.dat"), ascii("Finish\x02\x01\x7c"), ascii("Finisi\x02\x01\x7c")),
        /stop it with SIGINT: stage Finish has never run$/,
      ],
      [
        "a state at another block than the headers",
        "v1",
        (folder) => {
          for (const stage of [
            "AccountHashing",
            "Bodies",
            "Execution",
            "Finish",
            "Headers",
            "IndexAccountHistory",
            "IndexStorageHistory",
          ])
            replace(join(folder, "db/mdbx.dat"), ascii(`${stage}\x02\x01\x7c`), ascii(`${stage}\x02\x01\x7d`));
          for (const stage of ["MerkleExecute", "MerkleUnwind", "SenderRecovery", "StorageHashing", "TransactionLookup"])
            replace(join(folder, "db/mdbx.dat"), ascii(`${stage}\x02\x01\x7c`), ascii(`${stage}\x02\x01\x7d`));
        },
        /no header of block 381: .*_headers_0_499999 has blocks 0 to 380$/,
      ],
      [
        "a folder whose lock names this process",
        "v2",
        (folder) => writeFileSync(join(folder, "db/lock"), ownLock()),
        /is in use: stop op-reth first: db\/lock names process \d+, which is running$/,
      ],
      [
        "static files of another node",
        "v1",
        (folder) => replace(join(folder, "db/mdbx.dat"), hexToBytes(blockHashes[HEAD]!), new Uint8Array(32).fill(0xde)),
        /mdbx\.dat is damaged at HeaderNumbers: it does not have 0xde6a4d98/,
      ],
    ];

    /** What op-reth writes: the process id and the second of its start. */
    const ownLock = (startedSecAgo = process.uptime()): string =>
      `${process.pid}\n${Math.floor(Date.now() / 1000 - startedSecAgo)}`;

    const edit = (path: string, change: (bytes: Uint8Array) => void): void => {
      const bytes = readFileSync(path);
      change(bytes);
      writeFileSync(path, bytes);
    };

    it.each(CASES)("%s (%s)", (_what, name, spoil, message) => {
      const folder = copyOf(name);
      spoil(folder);
      expect(() => openRethData(folder)).toThrow(message);
    });

    const hasFlock = process.platform === "linux" && spawnSync("flock", ["--version"]).status === 0;

    it.skipIf(!hasFlock)("a folder of which a process has locked a file of libmdbx", async () => {
      const folder = copyOf("v2");
      const holder = spawn("flock", [join(folder, "db/mdbx.lck"), "-c", "echo locked; read line"], { stdio: "pipe" });
      onTestFinished(() => void holder.kill());
      await once(holder.stdout, "data");
      expect(() => openRethData(folder)).toThrow(/is in use: stop op-reth first: a process holds a lock on db\/mdbx\.lck$/);
      holder.stdin.end();
      await once(holder, "exit");
      withData(folder, (data) => expect(data.head.number).toBe(HEAD));
    });

    it("a header after the last of a file that has none yet", () => {
      const folder = copyOf("v2");
      const path = join(folder, "static_files/static_file_headers_0_499999");
      const next = join(folder, "static_files/static_file_headers_500000_999999");
      const config = readFileSync(`${path}.conf`);
      const empty = Buffer.concat([config.subarray(0, 25), config.subarray(41)]);
      empty.writeBigUInt64LE(500_000n, 8);
      empty.writeUInt8(0, 24);
      empty.writeBigUInt64LE(0n, 59 - 34 + 13);
      writeFileSync(`${next}.conf`, empty);
      for (const name of [next, `${next}.off`]) writeFileSync(name, "");
      withData(folder, (data) => {
        expect(() => data.header(500_000)).toThrow(/no header of block 500000: .*_headers_500000_999999 has no blocks$/);
      });
    });

    it("a placeholder of a header, and reads after it was closed", () => {
      const folder = copyOf("v2");
      const path = join(folder, "static_files/static_file_headers_0_499999");
      // row 5's hash: an LZ4 block of 32 literals, then one byte of zeros repeated
      const cell = readFileSync(`${path}.off`).readBigUInt64LE(1 + 8 * (5 * 3 + 2));
      edit(path, (bytes) => bytes.fill(0, Number(cell) + 2, Number(cell) + 34));
      withData(folder, (data) => {
        expect(() => data.header(5)).toThrow("no header of block 5: a placeholder is in its place");
        expect(data.header(6).number).toBe(6);
        data.close();
        expect(() => [...data.accounts()]).toThrow();
      });
    });

    it("not a folder whose lock names a process that began at another time", () => {
      const folder = copyOf("v2");
      writeFileSync(join(folder, "db/lock"), ownLock(process.uptime() + 1000));
      withData(folder, (data) => expect(data.head.number).toBe(HEAD));
    });

    it("to end a walk over a database that was written to meanwhile", () => {
      const folder = copyOf("v2");
      withData(folder, (data) => {
        const rows = data.accounts()[Symbol.iterator]();
        rows.next();
        // the transaction numbers of a meta page
        edit(join(folder, "db/mdbx.dat"), (bytes) => {
          bytes[4096 + 28]! ^= 0x40;
          bytes[4096 + 196]! ^= 0x40;
        });
        expect(() => Array.from({ length: 5000 }, () => rows.next())).toThrow(
          /is in use: stop op-reth first: a process wrote to the database/,
        );
      });
    });
  });
});
