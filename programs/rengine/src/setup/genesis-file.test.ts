import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { createGzip, gzipSync } from "node:zlib";
import { GenesisState, sealGenesis } from "@rnode/chain";
import { bytesToHex, keccak256 } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { parseGenesis } from "@rnode/protocol";
import { type ChainDatabase, openChainStore } from "@rnode/storage";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { genesisOfSpec, loadChainSpec, prepareGenesis, writeGenesis as writeGenesis_ } from "./chain-spec.ts";
import { openGenesisFile } from "./genesis-file.ts";
import { GenesisMemory } from "./genesis-memory.ts";

let folder: string;
let store: ChainDatabase;
const at = (name: string): string => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rengine-genesis-"));
  store = openChainStore(at("data"), { sync: "interval" });
});
afterEach(async () => {
  await store.close();
});

const addressOf = (index: number): string => bytesToHex(keccak256(Uint8Array.of(index >> 8, index)).subarray(12));
const words = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [bytesToHex(keccak256(Uint8Array.of(i >> 8, i))), `0x${(i + 1).toString(16)}`]),
  );
/** One account's text is larger than what is handed over as a whole. */
const alloc = {
  ...Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [addressOf(i), { balance: `0x${(i + 1).toString(16)}` }])),
  [addressOf(5000)]: { nonce: "0x1", storage: words(8000), code: "0x6001", balance: "12" },
  [addressOf(5001)]: { code: `0x${"5b".repeat(24_000)}`, storage: words(3) },
};
const GENESIS = { config: { chainId: 1337, homesteadBlock: 0 }, gasLimit: "0x1c9c380", alloc };

function writeGenesis(name: string, value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  writeFileSync(at(name), name.endsWith(".gz") ? gzipSync(text) : text);
  return at(name);
}

describe("a genesis file", () => {
  it.each(["genesis.json", "genesis.json.gz"])("is read in pieces as it is as a whole: %s", async (name) => {
    const file = await openGenesisFile(writeGenesis(name, GENESIS));
    const whole = parseGenesis(GENESIS);
    expect(file.head.header).toEqual(whole.header);
    expect(file.head.config).toEqual(whole.config);
    const read = sealGenesis(file.head.header, whole.config!, await file.readState());
    const expected = sealGenesis(whole.header, whole.config!, GenesisState.of(whole.alloc));
    expect(bytesToHex(read.hash)).toBe(bytesToHex(expected.hash));
  });

  const account = `0x${"ab".repeat(20)}`;
  const text = JSON.stringify(GENESIS);
  it.each<[string, string, RegExp]>([
    ["without alloc", JSON.stringify({ ...GENESIS, alloc: undefined }), /alloc: expected /],
    ["whose alloc is a list", JSON.stringify({ ...GENESIS, alloc: [] }), /alloc: expected an object, got \[\]/],
    ["with alloc twice", `${text.slice(0, -1)},"alloc":{}}`, /"alloc" is there twice/],
    ["that is cut off in an account", text.slice(0, -1000), /not JSON: the text ends at byte \d+$/],
    ["with something after it", `${text}]`, /not JSON: something follows the value at byte \d+$/],
    [
      "with a bad slot in a large account",
      JSON.stringify({ ...GENESIS, alloc: { [account]: { storage: { ...words(8000), "0x1": "0xzz" } } } }),
      /alloc\.0xabab.*\.storage\.0x1: expected at most 32 bytes of hex, got "0xzz"/,
    ],
    [
      "with a bad balance in a large account",
      JSON.stringify({ ...GENESIS, alloc: { [account]: { storage: words(8000), balance: "one" } } }),
      /alloc\.0xabab.*\.balance: expected .*, got "one"/,
    ],
  ])("%s is refused", async (_, content, message) => {
    const path = writeGenesis("genesis.json", content);
    const reading = openGenesisFile(path).then((file) => file.readState());
    await expect(reading).rejects.toThrow(UserError);
    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.toThrow(path);
  });

  const long = "a".repeat(1 << 20);
  const fields = `{"alloc":{},${Array.from({ length: 40 }, (_, i) => `"x${i}":"${long}"`).join(",")}}`;
  const huge: readonly [string, string, string, RegExp][] = [
    ["key", '{"alloc":{},"', "k", /a value of more than 33554432 bytes/],
    ["text in place of config", '{"config":"', "a", /a value of more than 33554432 bytes begins at byte 10/],
    ["config", '{"config":{"a":[', "1,", /a value of more than 33554432 bytes/],
    ["number", '{"number":1', "0", /a number of more than 1024 bytes/],
    ["code", `{"alloc":{"${account}":{"code":"0x`, "60", /a value of more than 33554432 bytes/],
    ["slot", `{"alloc":{"${account}":{"storage":{"0x1":"0x`, "0", /a value of more than 33554432 bytes/],
    ["list of accounts", '{"alloc":[', "{},", /a value of more than 33554432 bytes/],
    ["list", "[", "1,", /a value of more than 33554432 bytes/],
  ];
  const refuseHuge = async (start: string, repeated: string, message: RegExp): Promise<void> => {
    const file = openSync(at("genesis.json.gz"), "w");
    const piece = Buffer.from(repeated.repeat((8 << 20) / repeated.length));
    const packed = Readable.from([Buffer.from(start), ...Array.from({ length: 40 }, () => piece)]).pipe(createGzip({ level: 1 }));
    for await (const bytes of packed) writeSync(file, bytes as Uint8Array);
    closeSync(file);
    const before = process.memoryUsage().arrayBuffers;
    let peak = 0;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().arrayBuffers - before)), 5);
    const reading = openGenesisFile(at("genesis.json.gz")).then((opened) => opened.readState());
    await expect(reading)
      .rejects.toThrow(message)
      .finally(() => clearInterval(watch));
    expect(peak).toBeLessThan(256 << 20);
  };
  for (const [name, ...how] of huge)
    it(`with one huge ${name} is refused before it is in memory`, { tags: "long" }, () => refuseHuge(...how));

  it("with many fields that are none of a genesis is refused", async () => {
    const path = writeGenesis("genesis.json", fields);
    await expect(openGenesisFile(path)).rejects.toThrow(/its fields beside "alloc" have more than 33554432 bytes/);
  });

  it("that is cut off in its compression is refused", async () => {
    writeFileSync(at("genesis.json.gz"), gzipSync(text).subarray(0, -100));
    await expect(openGenesisFile(at("genesis.json.gz"))).rejects.toThrow(/genesis\.json\.gz: broken gzip data$/);
  });
});

describe("the genesis of a database", () => {
  it("is computed again only when the file has changed", async () => {
    const path = writeGenesis("genesis.json", GENESIS);
    expect(await prepareGenesis(store, await loadChainSpec({ chain: path }))).toBe("written");
    const spec = await loadChainSpec({ chain: path });
    const readState = () => Promise.reject(new Error("read again"));
    expect(await prepareGenesis(store, { ...spec, genesis: { ...spec.genesis!, readState } })).toBe("present");

    // The same genesis in other words, and a fork that is still to come.
    writeGenesis("genesis.json", JSON.stringify({ ...GENESIS, config: { ...GENESIS.config, eip150Block: 1000 } }, undefined, 1));
    const changed = await loadChainSpec({ chain: path });
    await expect(prepareGenesis(store, { ...changed, genesis: { ...changed.genesis!, readState } })).rejects.toThrow("read again");
    expect(await prepareGenesis(store, changed)).toBe("present");
    expect(await prepareGenesis(store, { ...changed, genesis: { ...changed.genesis!, readState } })).toBe("present");

    // The chain id is not in the block.
    writeGenesis("genesis.json", { ...GENESIS, config: { ...GENESIS.config, chainId: 4242 } });
    const otherId = await loadChainSpec({ chain: path });
    const otherChain = `the database is of chain ${spec.config.chainId}, but --chain=${path} is chain 4242: give the genesis file that the database was made with, or another --datadir`;
    await expect(prepareGenesis(store, otherId)).rejects.toThrow(otherChain);
    const sealed = await genesisOfSpec(otherId);
    expect(() => writeGenesis_(store, otherId, sealed)).toThrow(otherChain);

    writeGenesis("genesis.json", { ...GENESIS, alloc: { ...alloc, [addressOf(1)]: { balance: "0x1" } } });
    await expect(prepareGenesis(store, await loadChainSpec({ chain: path }))).rejects.toThrow(
      expect.objectContaining({ code: "chain/other-genesis" }),
    );
  });
});

describe("a large genesis file", () => {
  const text = JSON.stringify({ ...GENESIS, alloc: { [addressOf(1)]: { balance: "1", code: `0x${"5b".repeat(5 << 19)}` } } });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 150));
  const facts = async (path: string) => {
    const { head, digest } = await openGenesisFile(path, new GenesisMemory(at("memory")));
    return { chainId: head.config?.chainId, digest: bytesToHex(digest) };
  };

  it("is read once, and again when it has changed", async () => {
    const path = writeGenesis("genesis.json", text);
    await settle();
    const first = await facts(path);
    expect(existsSync(at("memory/genesis-file.json"))).toBe(true);
    // What is remembered counts, and only that.
    const memory = new GenesisMemory(at("memory"));
    expect(memory.recall(memory.identify(path)!)?.fields).not.toHaveProperty("alloc");
    expect(await facts(path)).toEqual(first);

    const { atime, mtime } = statSync(path);
    writeFileSync(path, text.replace("1337", "1338"));
    utimesSync(path, atime, mtime); // its size and its time are as before
    const changed = await facts(path);
    expect(changed.chainId).toBe(1338n);
    expect(changed.digest).not.toBe(first.digest);
  });

  it("that was written just now is not remembered: it may be written again within the same tick of the clock", async () => {
    const path = writeGenesis("genesis.json", text);
    await facts(path);
    if (Date.now() - statSync(path).ctimeMs < 100) expect(existsSync(at("memory/genesis-file.json"))).toBe(false);
    const memory = new GenesisMemory(at("memory"));
    const identity = { ...memory.identify(path)!, isSettled: false };
    memory.remember(path, identity, { fields: {}, digest: new Uint8Array(32) });
    expect(memory.recall(identity)?.digest).not.toEqual(new Uint8Array(32));
  });

  it("is read again if what was remembered of it is damaged", async () => {
    const path = writeGenesis("genesis.json", text);
    await settle();
    const first = await facts(path);
    const record = readFileSync(at("memory/genesis-file.json"), "utf8");
    for (const damaged of [
      "",
      "{",
      "null",
      record.slice(0, -20),
      record.replace("1337", "1339"),
      record.replace(/"digest":"0x./, '"digest":"0x_'),
    ]) {
      writeFileSync(at("memory/genesis-file.json"), damaged);
      expect(await facts(path)).toEqual(first);
    }
  });

  it("whose folder cannot be made is read as without", async () => {
    const path = writeGenesis("genesis.json", text);
    await settle();
    writeFileSync(at("memory"), "a file");
    expect((await facts(path)).chainId).toBe(1337n);
    // where folders are tried for ever by the recursive mode of mkdirSync
    expect((await openGenesisFile(path, new GenesisMemory("/proc/none/data"))).head.config?.chainId).toBe(1337n);
  });
});
