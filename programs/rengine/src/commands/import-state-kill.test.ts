import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GenesisState } from "@rnode/chain";
import { bytesToHex, EMPTY_KECCAK, type Hex, keccak256, padBytesLeft, toQuantity, uint64ToBytes } from "@rnode/primitives";
import { createRandomFraction } from "@rnode/primitives/testing";
import { encodeBlock, expectNetwork, hashHeader, PREDEPLOYS } from "@rnode/protocol";
import { writeDataDirectory } from "@rnode/reth-data/testing";
import { openChainStore } from "@rnode/storage";
import { beforeAll, describe, expect, it } from "vitest";
import { knownFirstBlock } from "../import-state/bedrock.ts";
import { databasePath } from "../setup/database.ts";
import { buildPackage, PROGRAM } from "../testing/built-package.ts";
import { limitedCommand } from "../testing/kill-process.ts";
import { writeRegistry } from "../testing/test-registry.ts";

/** Kills of an import; another number and another seed by hand */
const KILLS = Number(process.env.RNODE_KILLS ?? 8);
const random = createRandomFraction(Number(process.env.RNODE_KILL_SEED ?? 1));
const ACCOUNTS = 15_000;
const SLOTS_OF_FIFTH = 20;
/** The whole state has twice as much. */
const MAX_GROWTH_BYTES = 6 << 20;
const folder = mkdtempSync(join(tmpdir(), "rengine-import-state-kill-"));
const path = (name: string): string => join(folder, name);
const FIRST_BLOCK = 1_000;

const addressOf = (seed: number): Uint8Array => keccak256(uint64ToBytes(seed)).subarray(0, 20);
const slotOf = (seed: number): Uint8Array => keccak256(uint64ToBytes(1_000_000 + seed));

/**
 * Writes a state of several commits as a data directory of op-reth and as lines of JSON, the block that it is of, and a registry with a network that
 * begins there. @returns the block's hash
 */
function writeSources(): Hex {
  const state = new GenesisState();
  const accounts: { addressHash: Uint8Array; nonce: bigint; balance: bigint; codeHash: Uint8Array }[] = [];
  const slots: { addressHash: Uint8Array; slotHash: Uint8Array; value: Uint8Array }[] = [];
  const lines: string[] = [];
  for (let seed = 0; seed < ACCOUNTS; seed++) {
    const [address, balance] = [addressOf(seed), BigInt(seed) * 10n ** 15n];
    const account = { nonce: 1n, balance, codeHash: EMPTY_KECCAK };
    const addressHash = keccak256(address);
    accounts.push({ addressHash, ...account });
    state.addAccount(address, account);
    const storage: Record<string, string> = {};
    for (let place = 0; seed % 5 === 0 && place < SLOTS_OF_FIFTH; place++) {
      const [slot, value] = [slotOf(place), Uint8Array.of(1 + (seed % 250))];
      slots.push({ addressHash, slotHash: keccak256(slot), value });
      state.addSlot(address, { slot, value: padBytesLeft(value, 32) });
      storage[bytesToHex(slot)] = bytesToHex(value);
    }
    lines.push(JSON.stringify({ address: bytesToHex(address), nonce: 1, balance: toQuantity(balance), storage }));
  }
  const { stateRoot } = state.seal(PREDEPLOYS.l2ToL1MessagePasser);
  state.close();
  const { header } = knownFirstBlock(expectNetwork("op-mainnet").genesis.l2.hash)!;
  const block = { header: { ...header, number: FIRST_BLOCK, stateRoot }, transactions: [], ommers: [] };
  writeFileSync(path("state.jsonl"), lines.join("\n"));
  writeFileSync(path("blocks.rlp"), encodeBlock(block));
  writeDataDirectory(path("op-reth"), block.header, { accounts, slots, codes: [] });
  return bytesToHex(hashHeader(block.header));
}

describe("an import of a state that is killed, or has a full disk", { tags: "long" }, () => {
  let hash: Hex;
  let chain: string;
  beforeAll(() => {
    hash = writeSources();
    chain = `${writeRegistry(path("registry"), { number: FIRST_BLOCK, hash })}/test-mainnet`;
    buildPackage();
  }, 240_000);

  /** Runs an import, which is killed once its database has grown by so many bytes. */
  async function run(
    datadir: string,
    from: string,
    killAtGrowth: number,
    maxFileBytes?: number,
  ): Promise<{ readonly code: number | null; readonly err: string }> {
    const command = [
      process.execPath,
      PROGRAM,
      "import-state",
      `--chain=${chain}`,
      `--datadir=${datadir}`,
      `--from=${from}`,
      `--blocks=${path("blocks.rlp")}`,
    ];
    const [file = "", ...args] = limitedCommand(command, { maxFileBytes });
    const child = spawn(file, args, { stdio: ["ignore", "ignore", "pipe"] });
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk.toString();
    });
    const database = join(databasePath(datadir), "data.mdb");
    const sizeOf = (): number => statSync(database, { throwIfNoEntry: false })?.size ?? 0;
    const before = sizeOf();
    const timer = setInterval(() => {
      if (sizeOf() - before > killAtGrowth) child.kill("SIGKILL");
    }, 5);
    const [code] = (await once(child, "close")) as [number | null];
    clearInterval(timer);
    return { code, err };
  }

  it.each(["op-reth", "state.jsonl"])(
    "from %s: a full disk ends it, and the next run with room is whole",
    async (name) => {
      const datadir = mkdtempSync(path(`${name}-full-`));
      for (const maxFileBytes of [300_000, 1_500_000, 4_000_000, 4_000_000]) {
        const { code, err } = await run(datadir, path(name), Number.POSITIVE_INFINITY, maxFileBytes);
        expect({ code, error: err.trim().split("\n").at(-1) }).toEqual({
          code: 1,
          error: expect.stringMatching(/^rengine import-state: the database in \S+ cannot grow: .*: make room and try again$/),
        });
        const store = openChainStore(databasePath(datadir));
        expect(store.head()).toBeUndefined();
        await store.close();
      }
      const { code, err } = await run(datadir, path(name), Number.POSITIVE_INFINITY);
      expect({ code, err }).toMatchObject({ code: 0 });
      const store = openChainStore(databasePath(datadir));
      expect({ head: store.head(), problems: store.verifyState().problems }).toMatchObject({ head: { hash }, problems: [] });
      await store.close();
    },
    300_000,
  );

  it.each(["op-reth", "state.jsonl"])(
    "from %s: each run ends without a chain, or with the whole state, and the next one goes on",
    { timeout: 180_000 + KILLS * 60_000 },
    async (name) => {
      const newFolder = (): string => mkdtempSync(path(`${name}-data-`));
      let datadir = newFolder();
      for (let kill = 1; kill <= KILLS + 1; kill++) {
        const { code, err } = await run(datadir, path(name), kill > KILLS ? Number.POSITIVE_INFINITY : random() * MAX_GROWTH_BYTES);
        expect(err).not.toMatch(/state root|damaged/);
        const store = openChainStore(databasePath(datadir));
        const head = store.head();
        if (code !== null) expect({ code, err, head }).toMatchObject({ code: 0, head: { number: FIRST_BLOCK, hash } });
        if (head !== undefined) {
          expect(store.verifyState().problems).toEqual([]);
          datadir = newFolder();
        }
        await store.close();
      }
    },
  );
});
