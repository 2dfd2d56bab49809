import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { initGenesis, openChain } from "@rnode/chain";
import { bytesToHex, concatBytes, hexToBytes, ZERO_HASH } from "@rnode/primitives";
import type { Command } from "@rnode/program";
import { encodeBlock, encodeTransaction, hashHeader, L1_ATTRIBUTES_DEPOSITOR, PREDEPLOYS } from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import { beforeEach, describe, expect, it } from "vitest";
import { genesisOfSpec, loadChainSpec } from "../setup/chain-spec.ts";
import { databasePath } from "../setup/database.ts";
import { describeError } from "../setup/describe-error.ts";
import { db } from "./db.ts";
import { exportBlocks } from "./export.ts";
import { importBlocks } from "./import.ts";
import { init } from "./init.ts";
import { stateless } from "./stateless.ts";

let folder: string;
const at = (...names: string[]): string => join(folder, ...names);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rengine-test-"));
  writeFileSync(at("genesis.json"), JSON.stringify(GENESIS));
});

/** An OP Stack chain with all forks up to Jovian active from genesis. */
const GENESIS = {
  config: {
    chainId: 901,
    bedrockBlock: 0,
    regolithTime: 0,
    canyonTime: 0,
    ecotoneTime: 0,
    fjordTime: 0,
    graniteTime: 0,
    holoceneTime: 0,
    isthmusTime: 0,
    jovianTime: 0,
    optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
  },
  timestamp: "0x3e8",
  gasLimit: "0x1c9c380",
  baseFeePerGas: "0x3b9aca00",
  extraData: "0x01000000fa000000060000000000000000",
  alloc: {
    "0x1111111111111111111111111111111111111111": { balance: "0x1" },
    [bytesToHex(PREDEPLOYS.l2ToL1MessagePasser)]: { nonce: "0x1", storage: { [`0x${"00".repeat(32)}`]: `0x${"00".repeat(31)}01` } },
  },
};

/** Runs a command as `main` does. @returns the exit code, the output, and the one-line error */
async function run(command: Command, ...args: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const io = { out: (line: string) => out.push(line), err: (line: string) => err.push(line), progress: () => {} };
  try {
    return { code: await command(args, {}, io), out, err };
  } catch (error) {
    const description = describeError(error);
    if (description === undefined) throw error;
    expect(description).not.toContain("\n");
    return { code: 1, out, err: [...err, description] };
  }
}

/** The RLP of `count` blocks on top of the genesis, and their hashes. */
async function makeBlocks(count: number): Promise<{ rlp: Uint8Array[]; hashes: string[] }> {
  const spec = await loadChainSpec({ chain: at("genesis.json") });
  const store = openChainStore(at("maker"));
  initGenesis(store, await genesisOfSpec(spec));
  const chain = openChain({ store, config: spec.config, nowMs: () => 0 });
  const rlp: Uint8Array[] = [];
  const hashes: string[] = [];
  for (let i = 1; i <= count; i++) {
    const deposit = {
      type: 0x7e as const,
      sourceHash: new Uint8Array(32).fill(i),
      from: L1_ATTRIBUTES_DEPOSITOR,
      to: PREDEPLOYS.l1Block,
      mint: BigInt(i),
      value: 0n,
      gasLimit: 100_000n,
      isSystemTx: false,
      data: new Uint8Array(0),
    };
    const attributes = {
      timestamp: 1000 + 2 * i,
      prevRandao: ZERO_HASH,
      suggestedFeeRecipient: PREDEPLOYS.sequencerFeeVault,
      withdrawals: [],
      parentBeaconBlockRoot: ZERO_HASH,
      transactions: [encodeTransaction(deposit)],
      noTxPool: true,
      gasLimit: 30_000_000n,
      eip1559Params: new Uint8Array(8),
      minBaseFee: 0n,
    };
    const forkchoice = (hash: Uint8Array) => ({ headBlockHash: hash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH });
    const started = chain.forkchoiceUpdated(forkchoice(hexToBytes(chain.head().hash)), attributes, 3);
    if (started.kind !== "updated" || started.payloadId === undefined) throw new Error(JSON.stringify(started));
    const { block, hash } = chain.getPayload(started.payloadId)!;
    chain.forkchoiceUpdated(forkchoice(hash), undefined, 3);
    rlp.push(encodeBlock(block));
    hashes.push(bytesToHex(hash));
  }
  await chain.close();
  return { rlp, hashes };
}

describe("init", () => {
  it("prints the block hash and state root, and does nothing the second time", async () => {
    const expected = await genesisOfSpec(await loadChainSpec({ chain: at("genesis.json") }));
    const line = `genesis ${bytesToHex(expected.hash)} state ${bytesToHex(expected.block.header.stateRoot)}`;
    for (let i = 0; i < 2; i++) {
      expect(await run(init, `--chain=${at("genesis.json")}`, `--datadir=${at("data")}`)).toEqual({
        code: 0,
        out: [line],
        err: [],
      });
    }
  });

  it("refuses the database of another genesis, naming both hashes", async () => {
    await run(init, `--chain=${at("genesis.json")}`, `--datadir=${at("data")}`);
    writeFileSync(at("other.json"), JSON.stringify({ ...GENESIS, timestamp: "0x3e9" }));
    const { code, out, err } = await run(init, `--chain=${at("other.json")}`, `--datadir=${at("data")}`);
    expect({ code, out }).toEqual({ code: 1, out: [] });
    expect(err[0]).toMatch(
      /^the database holds another chain: its genesis block is 0x[0-9a-f]{64}, the one of --chain is 0x[0-9a-f]{64}; give another/,
    );
  });

  it.each<[string, string[], RegExp]>([
    ["no chain", ["--datadir=DIR/data"], /^rengine init: --chain or RENGINE_CHAIN is required/],
    ["no datadir", ["--chain=DIR/genesis.json"], /^rengine init: --datadir or RENGINE_DATADIR is required/],
    [
      "an unknown network",
      ["--chain=op-seplia", "--datadir=DIR/data"],
      /^--chain: "op-seplia" is neither a file nor the name of a network/,
    ],
    [
      "a network without allocations that may not be fetched",
      ["--chain=op-sepolia", "--datadir=DIR/data", "--offline"],
      /^op-sepolia needs superchain\/extra\/genesis\/sepolia\/op\.json\.zst .*0x102de6ff.*--offline forbids.*--genesis=FILE/,
    ],
    [
      "allocations of another chain",
      ["--chain=op-sepolia", "--genesis=DIR/genesis.json", "--datadir=DIR/data"],
      /is the genesis of chain 901, but --chain=op-sepolia is chain 11155420$/,
    ],
    [
      "allocations that give another block",
      ["--chain=op-sepolia", "--genesis=DIR/null.json", "--datadir=DIR/data"],
      /^the genesis file gives block 0x[0-9a-f]{64}, but op-sepolia starts with 0x102de6/,
    ],
    [
      "a network without a genesis of its own",
      ["--chain=op-mainnet", "--genesis=DIR/null.json", "--datadir=DIR/data"],
      /^op-mainnet starts at block 105235063/,
    ],
    [
      "config null without a name",
      ["--chain=DIR/null.json", "--datadir=DIR/data"],
      /"config" is null; give --chain=NAME --genesis=/,
    ],
    ["a file that is not JSON", ["--chain=DIR/text.json", "--datadir=DIR/data"], /text\.json: not JSON/],
    ["a file that is no genesis", ["--chain=DIR/list.json", "--datadir=DIR/data"], /list\.json: genesis: expected an object/],
    [
      "an unknown option",
      ["--chian=x", "--chain=x", "--datadir=DIR/data"],
      /^rengine init: unknown option --chian: did you mean --chain\?/,
    ],
  ])("refuses %s in one line, before anything is opened", async (_, args, message) => {
    writeFileSync(at("null.json"), JSON.stringify({ ...GENESIS, config: null }));
    writeFileSync(at("text.json"), "hello");
    writeFileSync(at("list.json"), "[]");
    const { code, out, err } = await run(init, ...args.map((arg) => arg.replaceAll("DIR", folder)));
    expect({ code, out }).toEqual({ code: 1, out: [] });
    expect(err).toHaveLength(1);
    expect(err[0]).toMatch(message);
  });
});

describe("import and export", () => {
  it("round trips, gzipped too, and in parts", async () => {
    const { rlp, hashes } = await makeBlocks(5);
    writeFileSync(at("a.rlp"), concatBytes(...rlp.slice(0, 3)));
    writeFileSync(at("b.rlp.gz"), gzipSync(concatBytes(...rlp.slice(2))));
    const imported = await run(
      importBlocks,
      `--chain=${at("genesis.json")}`,
      `--datadir=${at("data")}`,
      at("a.rlp"),
      at("b.rlp.gz"),
    );
    expect(imported).toEqual({ code: 0, out: [`head 5 ${hashes[4]}`], err: [] });

    const exported = await run(exportBlocks, `--datadir=${at("data")}`, "--from=2", "--to", "4", at("out.rlp"));
    expect(exported).toEqual({ code: 0, out: [`exported 3 blocks to ${at("out.rlp")}`], err: [] });
    expect(new Uint8Array(readFileSync(at("out.rlp")))).toEqual(concatBytes(...rlp.slice(1, 4)));

    const whole = await run(exportBlocks, `--datadir=${at("data")}`, at("all.rlp"));
    expect(whole.out).toEqual([`exported 6 blocks to ${at("all.rlp")}`]);
    const again = await run(importBlocks, `--chain=${at("genesis.json")}`, `--datadir=${at("second")}`, at("all.rlp"));
    expect(again.out).toEqual([`head 5 ${hashes[4]}`]);
  });

  it("of blocks that are there does not go back to them", async () => {
    const { rlp, hashes } = await makeBlocks(5);
    writeFileSync(at("a.rlp"), concatBytes(...rlp));
    writeFileSync(at("first.rlp"), concatBytes(...rlp.slice(0, 2)));
    // Like a kill, a bad block ends the run; by then the blocks before it have been chosen again.
    writeFileSync(at("bad.rlp"), concatBytes(...rlp.slice(0, 3), Uint8Array.of(0xc1, 0x80)));
    const into = [`--chain=${at("genesis.json")}`, `--datadir=${at("data")}`, "--batch=1"];
    for (const file of ["a.rlp", "first.rlp", "a.rlp"]) {
      expect((await run(importBlocks, ...into, at(file))).out).toEqual([`head 5 ${hashes[4]}`]);
    }
    expect((await run(importBlocks, ...into, at("bad.rlp"))).code).toBe(1);
    const store = openChainStore(databasePath(at("data")), { readOnly: true });
    expect(store.head()).toEqual({ hash: hashes[4], number: 5 });
    await store.close();
  });

  it("keeps the good blocks before a bad one, and names it", async () => {
    const { rlp, hashes } = await makeBlocks(3);
    const damaged = Uint8Array.from(rlp[2]!);
    damaged[100]! ^= 1; // inside the state root
    writeFileSync(at("a.rlp"), concatBytes(rlp[0]!, rlp[1]!, damaged));
    const { code, err } = await run(importBlocks, `--chain=${at("genesis.json")}`, `--datadir=${at("data")}`, at("a.rlp"));
    expect(code).toBe(1);
    expect(err.at(-1)).toMatch(/a\.rlp: block 3 0x[0-9a-f]{64} is invalid: state-root-mismatch/);
    const store = openChainStore(databasePath(at("data")), { readOnly: true });
    expect(store.head()).toEqual({ hash: hashes[1], number: 2 });
    await store.close();
  });

  it.each<[string, (blocks: Uint8Array[]) => Uint8Array, RegExp]>([
    ["a file that is cut off", ([first]) => first!.subarray(0, -3), /a\.rlp: the first block, at byte 0, is cut off$/],
    ["a gap", ([, second]) => second!, /block 2 0x[0-9a-f]{64}: its parent 0x[0-9a-f]{64} is not in the database$/],
    ["what is no block", () => Uint8Array.of(0xc1, 0x80), /the first block, at byte 0, is no RLP block: block: malformed/],
    ["trailing bytes", ([first]) => concatBytes(first!, Uint8Array.of(0x05)), /block 2, at byte \d+, is no RLP block: /],
  ])("refuses %s", async (_, content, message) => {
    const { rlp } = await makeBlocks(2);
    writeFileSync(at("a.rlp"), content(rlp));
    const { code, err } = await run(importBlocks, `--chain=${at("genesis.json")}`, `--datadir=${at("data")}`, at("a.rlp"));
    expect(code).toBe(1);
    expect(err.at(-1)).toMatch(message);
  });

  it.each<[string, (blocks: Uint8Array[]) => Uint8Array, RegExp]>([
    ["is cut off", (blocks) => concatBytes(...blocks).subarray(0, -50), /block 4, at byte BYTES, is cut off$/],
    [
      "holds garbage",
      (blocks) => concatBytes(...blocks.slice(0, 3), new Uint8Array(90).fill(0xf8), blocks[3]!),
      /block 4, at byte BYTES, is no RLP block: /,
    ],
    [
      "holds zeros",
      (blocks) => concatBytes(...blocks.slice(0, 3), new Uint8Array(90), blocks[3]!),
      /block 4, at byte BYTES, is no RLP block: /,
    ],
    [
      "holds a block without a field",
      (blocks) => concatBytes(...blocks.slice(0, 3), Uint8Array.of(0xc3, 0xc0, 0xc0, 0xc0), blocks[3]!),
      /block 4, at byte BYTES, is no RLP block: block: malformed/,
    ],
  ])("of a file that %s keeps the blocks before, and says which and where", async (_, content, message) => {
    const { rlp, hashes } = await makeBlocks(4);
    const file = content(rlp);
    const expected = new RegExp(message.source.replace("BYTES", String(concatBytes(...rlp.slice(0, 3)).length)));
    writeFileSync(at("a.rlp"), file);
    writeFileSync(at("a.rlp.gz"), gzipSync(file));
    writeFileSync(at("rest.rlp"), concatBytes(...rlp));
    for (const name of ["a.rlp", "a.rlp.gz"]) {
      const into = [`--chain=${at("genesis.json")}`, `--datadir=${at(`into-${name}`)}`];
      const { code, out, err } = await run(importBlocks, ...into, at(name));
      expect({ code, out }).toEqual({ code: 1, out: [] });
      expect(err.at(-1)).toMatch(expected);
      const store = openChainStore(databasePath(at(`into-${name}`)), { readOnly: true });
      expect(store.head()).toEqual({ hash: hashes[2], number: 3 });
      await store.close();
      expect((await run(importBlocks, ...into, at("rest.rlp"))).out).toEqual([`head 4 ${hashes[3]}`]);
    }
  });

  it("shows how far it is, with blocks and gas a second", async () => {
    const { rlp } = await makeBlocks(3);
    writeFileSync(at("a.rlp"), concatBytes(...rlp));
    const shown: string[] = [];
    const io = { out: () => {}, err: () => {}, progress: (line: string) => shown.push(line) };
    expect(await importBlocks([`--chain=${at("genesis.json")}`, `--datadir=${at("data")}`, at("a.rlp")], {}, io)).toBe(0);
    expect(shown[0]).toMatch(/a\.rlp █{30} block 1, \d+ blocks\/s, \d+\.\d Mgas\/s$/);
  });

  it.each<[string, string[], RegExp]>([
    ["no database", ["--datadir=DIR/none", "DIR/x"], /holds no chain database/],
    ["a range beyond the head", ["--datadir=DIR/data", "--to=9", "DIR/x"], /^--to: block 9 is above the head, 0$/],
    [
      "a range that ends before it begins",
      ["--datadir=DIR/data", "--from=1", "--to=0", "DIR/x"],
      /^--from: 1 is above the last block/,
    ],
    ["a folder that is not there", ["--datadir=DIR/data", "DIR/none/x"], /ENOENT/],
  ])("export refuses %s", async (_, args, message) => {
    await run(init, `--chain=${at("genesis.json")}`, `--datadir=${at("data")}`);
    const { code, err } = await run(exportBlocks, ...args.map((arg) => arg.replaceAll("DIR", folder)));
    expect(code).toBe(1);
    expect(err.at(-1)).toMatch(message);
  });
});

describe("db", () => {
  it("counts and verifies", async () => {
    const { rlp } = await makeBlocks(2);
    writeFileSync(at("a.rlp"), concatBytes(...rlp));
    await run(importBlocks, `--chain=${at("genesis.json")}`, `--datadir=${at("data")}`, at("a.rlp"));
    const stats = await run(db, "stats", `--datadir=${at("data")}`, "--json");
    expect(JSON.parse(stats.out[0]!)).toMatchObject({ head: { number: 2 }, firstBlock: 0 });
    const printed = (await run(db, "stats", `--datadir=${at("data")}`)).out;
    const headersRow = printed.find((line) => line.startsWith("headers "))!;
    expect(headersRow).toMatch(/^headers +3 +0\.00 MiB +\d+$/);
    expect(JSON.parse(stats.out[0]!).costs.headers.block).toBeCloseTo(Number(headersRow.split(/ +/).at(-1)), 0);
    expect(printed.find((line) => line.startsWith("together"))).toMatch(/^together +\d+ +\d+ +\d+ +\d+$/);
    expect(printed.at(-1)).toMatch(/^pages are read one by one: the file is small \(0 MiB of \d+ MiB\)$/);
    const verified = await run(db, "verify", `--datadir=${at("data")}`);
    expect(verified).toMatchObject({ code: 0, err: [] });
    expect(verified.out[0]).toMatch(/^block 2 0x[0-9a-f]{64} state 0x[0-9a-f]{64} accounts \d+ slots \d+ codes \d+$/);
    expect(verified.out[1]).toBe("verified");
  });

  it("continues a verification that was interrupted, and says so; with --restart it begins anew", async () => {
    await run(init, `--chain=${at("genesis.json")}`, `--datadir=${at("data")}`);
    const interrupt = async (): Promise<void> => {
      const store = openChainStore(databasePath(at("data")), { readOnly: true });
      let reports = 0;
      const onProgress = (): void => {
        if (++reports === 2) throw new Error("interrupted");
      };
      const checkpoints = { intervalMs: 0, nowMs: () => 0 };
      expect(() => store.verifyState({ onProgress, checkpoints })).toThrow("interrupted");
      await store.close();
    };
    const verify = (...args: string[]) => run(db, "verify", `--datadir=${at("data")}`, ...args);
    const { out } = await verify();
    await interrupt();
    const continued = await verify();
    expect(continued).toMatchObject({ code: 0, out });
    expect(continued.err).toEqual([
      expect.stringMatching(/^goes on where a verification was interrupted: \d+ pages of the file \(--restart begins anew\)$/),
    ]);
    await interrupt();
    expect(await verify("--restart")).toEqual({ code: 0, out, err: ["begins anew: as --restart says"] });
    await interrupt();
    writeFileSync(join(databasePath(at("data")), "verify/checkpoint"), "");
    expect(await verify()).toEqual({
      code: 0,
      out,
      err: ["begins anew: what the interrupted verification left is damaged"],
    });
    writeFileSync(join(databasePath(at("data")), "verify"), "");
    const without = await verify();
    expect(without).toMatchObject({ code: 0, out });
    expect(without.err).toEqual([
      expect.stringMatching(/^where this verification is cannot be noted for one that goes on after an interruption: E/),
    ]);
  });

  it("compacts, and says what for", async () => {
    await run(init, `--chain=${at("genesis.json")}`, `--datadir=${at("data")}`);
    const { code, out } = await run(db, "compact", `--datadir=${at("data")}`);
    expect(code).toBe(0);
    expect(out[0]).toMatch(/^[\d.]+ MiB before, [\d.]+ MiB now$/);
    expect((await run(db, "verify", `--datadir=${at("data")}`)).out.at(-1)).toBe("verified");
    expect((await run(db, "compact", `--datadir=${at("none")}`)).err[0]).toContain("holds no chain database");
  });

  it("prunes, and tells what is left", async () => {
    const { rlp } = await makeBlocks(150);
    writeFileSync(at("a.rlp"), concatBytes(...rlp));
    await run(importBlocks, `--chain=${at("genesis.json")}`, `--datadir=${at("data")}`, at("a.rlp"));
    const prune = (...args: string[]) => run(db, "prune", `--datadir=${at("data")}`, ...args);
    expect((await prune()).err).toEqual(["--history.blocks or --full says how much history stays"]);
    expect((await prune("--history.blocks=127")).err).toEqual([
      'rengine db prune: --history.blocks: "127" is not valid, expected a whole number from 128 to 1000000000',
    ]);
    expect((await prune("--full")).out).toEqual([
      "removed 0 rows of 0 blocks",
      "state from block 0 on, receipts and logs from block 0 on",
    ]);
    const { code, out } = await prune("--history.blocks=128");
    expect(code).toBe(0);
    expect(out[0]).toMatch(/^removed [0-9]{2,} rows of 22 blocks$/);
    expect(out[1]).toBe("state from block 22 on, receipts and logs from block 23 on");
    expect((await run(db, "stats", `--datadir=${at("data")}`)).out).toEqual(
      expect.arrayContaining([
        "first block 0, oldest block with proofs 22",
        "pruned: state from block 22 on, receipts, senders and logs from block 23 on",
        "removed: states, receipts, senders, logs and transaction places of blocks 1 to 22",
      ]),
    );
    expect((await run(db, "verify", `--datadir=${at("data")}`)).out.at(-1)).toBe("verified");
    const exported = await run(exportBlocks, `--datadir=${at("data")}`, "--from", "1", "--to", "150", at("b.rlp"));
    expect(exported.code).toBe(0);
    expect(readFileSync(at("b.rlp")).equals(readFileSync(at("a.rlp")))).toBe(true);
  });

  it("says what it expects", async () => {
    expect((await run(db)).err).toEqual(['expected "stats", "verify", "prune" or "compact"']);
    expect((await run(db, "statz")).err).toEqual(['expected "stats", "verify", "prune" or "compact", found "statz"']);
    const help = await run(db, "--help");
    expect([help.code, help.out[0]]).toEqual([0, "Usage: rengine db stats|verify|prune|compact [options]\n"]);
    expect(help.out).toContain("  stats    Sizes of the database and its tables.");
    expect((await run(db, "stats", `--datadir=${at("none")}`)).err[0]).toContain("holds no chain database");
  });
});

describe("stateless", () => {
  it.each<[string, string, RegExp]>([
    ["no file", "none.json", /none\.json: no such file$/],
    ["no JSON", "text.json", /text\.json: not JSON/],
    ["no block file", "empty.json", /empty\.json: the file does not have the expected form: /],
    ["broken gzip", "broken.json.gz", /broken\.json\.gz: broken gzip data$/],
  ])("refuses %s", async (_, name, message) => {
    writeFileSync(at("text.json"), "{");
    writeFileSync(at("empty.json"), "{}");
    writeFileSync(at("broken.json.gz"), Uint8Array.of(0x1f, 0x8b, 0, 0));
    const { code, out, err } = await run(stateless, at(name));
    expect({ code, out }).toEqual({ code: 1, out: [] });
    expect(err).toHaveLength(1);
    expect(err[0]).toMatch(message);
  });
});

describe("blocks of the maker", () => {
  it("decode to their hashes", async () => {
    const { rlp, hashes } = await makeBlocks(1);
    const { decodeBlock } = await import("@rnode/protocol");
    expect(bytesToHex(hashHeader(decodeBlock(rlp[0]!).header))).toBe(hashes[0]);
  });
});
