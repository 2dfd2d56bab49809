import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { performance } from "node:perf_hooks";
import { createRpcClient } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes, isCodedError, keccak256, ZERO_HASH } from "@rnode/primitives";
import { createRandomFraction } from "@rnode/primitives/testing";
import type { BlockId } from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databasePath } from "../setup/database.ts";
import { buildPackage, PROGRAM } from "../testing/built-package.ts";
import { type Choice, EngineDriver } from "../testing/engine-driver.ts";
import { attributesJson, generateBlocks, WRITER_GENESIS } from "../testing/generated-blocks.ts";
import { KillableClient } from "../testing/kill-process.ts";
import { GENESIS_TIME_SEC } from "../testing/test-client.ts";

/*
 * Kills rengine with SIGKILL at random moments. RNODE_KILLS sets the total number of kills (default 12), RNODE_KILL_SEED the seed of the
 * moments.
 */

const KILLS = Number(process.env.RNODE_KILLS ?? 12);
/** Only for hangs: a loaded machine takes many times as long as an idle one. */
const TIMEOUT_MS = 180_000 + KILLS * 45_000;
const REQUEST_TIMEOUT_MS = 120_000;
const IMPORTED_BLOCKS = Math.min(400, 100 + 4 * KILLS);
/** the fewest fork choices that must be acknowledged between a start and a kill */
const LEAST_ACKNOWLEDGEMENTS = 5;
const BLOCKS_A_CALL = 40;
/** the longest chain to build before a new one begins */
const MAX_BUILT_BLOCKS = 1000;

const random = createRandomFraction(Number(process.env.RNODE_KILL_SEED ?? 1));

let folder: string;
let genesisPath: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rengine-kill-"));
  genesisPath = join(folder, "genesis.json");
  writeFileSync(genesisPath, JSON.stringify(WRITER_GENESIS));
  buildPackage();
}, 240_000);
/** A faulty database is kept for inspection. */
let isKept = false;
afterAll(() => {
  if (isKept) renameSync(folder, join(process.env.RNODE_OUTER_TMPDIR!, basename(folder)));
});

/** If `check` fails, adds to the error what was killed, and when. */
async function after<T>(story: () => string, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (cause) {
    isKept = true;
    throw new Error(`${story()}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** Random moments within the duration of a run. They adapt to the measured durations, because the machine may get slower or faster. */
class Moments {
  #fromMs: number;
  #toMs: number;

  constructor(fromMs: number, toMs: number) {
    this.#fromMs = fromMs;
    this.#toMs = toMs;
  }

  next(): number {
    return this.#fromMs + random() * Math.max(300, this.#toMs - this.#fromMs);
  }

  /** The run ended before it could be killed. */
  wasTooLate(tookMs: number): void {
    this.#toMs = tookMs;
    this.#fromMs = Math.min(this.#fromMs, tookMs / 2);
  }

  /** Nothing had been done yet. */
  wasTooEarly(): void {
    this.#toMs *= 1.25;
  }
}

interface StoredChain {
  readonly head: BlockId;
  readonly safe: BlockId | undefined;
  readonly finalized: BlockId | undefined;
  /** canonical hashes by number */
  readonly chain: readonly Hex[];
}

const MAX_EXTRA_KILLS = 40;

/** Describes how `stored` differs from `expected`; empty if it does not. @param expected canonical hashes by number */
function differenceOf(stored: readonly Hex[], expected: readonly Hex[]): string {
  const parting = expected.findIndex((hash, number) => stored[number] !== hash);
  if (parting < 0) return stored.length > expected.length ? `blocks after ${expected.length - 1} that are not expected` : "";
  const lost = parting === expected.length - 1 ? `block ${parting}` : `blocks ${parting} to ${expected.length - 1}`;
  return stored.length === parting
    ? `${lost} lost`
    : `${lost} lost, block ${parting} is ${stored[parting]} instead of ${expected[parting]}`;
}

/** Opens the database that a kill left behind and checks it: the whole chain, its labels, and the state down to the last slot. */
async function checkedChain(datadir: string): Promise<StoredChain | undefined> {
  const store = openChainStore(databasePath(datadir));
  try {
    const head = store.head();
    if (head === undefined) return undefined; // killed before the genesis was written
    const { problems, stateRoot, expectedStateRoot } = store.verifyState();
    expect({ problems, stateRoot: bytesToHex(stateRoot) }).toEqual({ problems: [], stateRoot: bytesToHex(expectedStateRoot) });
    const chain: Hex[] = [];
    for (let number = 0; number <= head.number; number++) {
      const hash = store.readCanonicalHash(number)!;
      const block = store.readBlock(hash)!;
      expect(block.header.number).toBe(number);
      if (number > 0) expect(bytesToHex(block.header.parentHash)).toBe(chain[number - 1]);
      expect(store.readReceipts(hash)!.length).toBe(block.transactions.length);
      chain.push(bytesToHex(hash));
    }
    expect(chain.at(-1)).toBe(head.hash);
    expect(store.readCanonicalHash(head.number + 1)).toBeUndefined();
    expect(store.stateAt(Math.floor(head.number / 2))).toBeDefined();
    const [safe, finalized] = [store.label("safe"), store.label("finalized")];
    for (const label of [safe, finalized]) if (label !== undefined) expect(chain[label.number]).toBe(label.hash);
    return { head, safe, finalized, chain };
  } finally {
    await store.close();
  }
}

async function accountRows(datadir: string): Promise<number> {
  const store = openChainStore(databasePath(datadir));
  try {
    return store.storageStats().tables.accounts!.entries;
  } finally {
    await store.close();
  }
}

describe("kill -9", () => {
  it(`under import, ${Math.floor(KILLS / 2)} times`, { tags: "long", timeout: TIMEOUT_MS }, async () => {
    const { rlp, hashes } = await generateBlocks(genesisPath, join(folder, "maker"), IMPORTED_BLOCKS);
    const file = join(folder, "chain.rlp");
    writeFileSync(file, rlp);
    const start = (datadir: string, batch: number) =>
      new KillableClient(PROGRAM, [
        "import",
        `--chain=${genesisPath}`,
        `--datadir=${datadir}`,
        `--batch=${batch}`,
        ...(random() < 0.5 ? ["--proofs.window=128"] : []), // then the first blocks are a run
        file,
      ]);
    const anyBatch = (): number => 1 + Math.floor(random() * 32);
    const runToEnd = async (datadir: string): Promise<number> => {
      const startMs = performance.now();
      const client = start(datadir, anyBatch());
      expect(await client.killAfter(TIMEOUT_MS)).toBe(false);
      expect(client.stdout).toBe(`head ${IMPORTED_BLOCKS} ${hashes.at(-1)}\n`);
      return performance.now() - startMs;
    };
    // Measures an import, and with an import of blocks that are already present, the share of the start in it.
    const wholeMs = await runToEnd(join(folder, "reference"));
    const startMs = Math.min(wholeMs, await runToEnd(join(folder, "reference")));
    const moments = new Moments(startMs * 0.8, wholeMs);

    let datadir = "";
    let heads: number[] = [];
    let moved = 0;
    let wholeImports = 0;
    // With few kills, all may come before the first commit; in that case there are more.
    let kills = 0;
    while (kills < Math.floor(KILLS / 2) || (moved === 0 && kills < MAX_EXTRA_KILLS)) {
      if (heads.length === 0) datadir = join(folder, `import-${kills}`);
      const before = heads.at(-1) ?? 0;
      const batch = anyBatch();
      const momentMs = moments.next();
      const client = start(datadir, batch);
      const beginMs = performance.now();
      const isKilled = await client.killAfter(momentMs);
      const tookMs = performance.now() - beginMs;
      const story = (): string =>
        `import with --batch=${batch} into ${datadir}, heads so far ${heads.join(", ") || "none"}, ` +
        `${isKilled ? `killed after ${momentMs.toFixed(0)} ms` : `ended after ${tookMs.toFixed(0)} ms`} (${kills} kills before, log "${client.log}")`;
      const number = await after(story, async () => {
        const stored = await checkedChain(datadir);
        const found = stored?.head.number ?? 0;
        if (stored !== undefined) expect(differenceOf(stored.chain, hashes.slice(0, found + 1))).toBe("");
        // Whatever was once present remains.
        expect(found, `blocks ${found + 1} to ${before} lost`).toBeGreaterThanOrEqual(before);
        if (!isKilled) expect(found, "ended, but not at its end").toBe(IMPORTED_BLOCKS);
        return found;
      });
      heads.push(number);
      if (number > before) moved++;
      else if (isKilled) moments.wasTooEarly();
      if (isKilled) kills++;
      else moments.wasTooLate(tookMs);
      if (number === IMPORTED_BLOCKS) {
        rmSync(datadir, { recursive: true });
        heads = [];
        wholeImports++;
      }
    }
    if (heads.length > 0) await runToEnd(datadir);
    report(`import: ${kills} kills, ${moved} of them after new blocks were written, ${wholeImports} chains to their end`);
    expect(moved).toBeGreaterThan(0);
  });

  it(`under init of a large genesis, ${Math.ceil(KILLS / 3)} times`, { tags: "long", timeout: TIMEOUT_MS }, async () => {
    const alloc = Object.fromEntries(
      Array.from({ length: 60_000 }, (_, i) => [
        bytesToHex(keccak256(Uint8Array.of(i >> 8, i)).subarray(12)),
        { balance: `0x${(i + 1).toString(16)}` },
      ]),
    );
    const largePath = join(folder, "large.json");
    writeFileSync(largePath, JSON.stringify({ ...WRITER_GENESIS, alloc }));
    const start = (datadir: string) => new KillableClient(PROGRAM, ["init", `--chain=${largePath}`, `--datadir=${datadir}`]);
    const startMs = performance.now();
    const whole = start(join(folder, "init-whole"));
    expect(await whole.killAfter(TIMEOUT_MS)).toBe(false);
    const wholeMs = performance.now() - startMs;
    const datadir = join(folder, "init");
    let begun = 0;
    for (let kills = 0; kills < Math.ceil(KILLS / 3); kills++) {
      // Reading the file and computing the roots come first.
      const momentMs = wholeMs * (0.4 + 0.6 * random());
      await start(datadir).killAfter(momentMs);
      const stored = await after(
        () => `init into ${datadir}, killed after ${momentMs.toFixed(0)} ms`,
        () => checkedChain(datadir),
      );
      if (stored !== undefined) rmSync(datadir, { recursive: true });
      else if ((await accountRows(datadir)) > 0) begun++;
    }
    const last = start(datadir);
    expect(await last.killAfter(TIMEOUT_MS)).toBe(false);
    expect(last.stdout).toBe(whole.stdout);
    expect((await checkedChain(datadir))!.chain).toHaveLength(1);
    report(`init: ${Math.ceil(KILLS / 3)} kills, ${begun} of them with a part of the genesis written`);
  });

  describe.each([
    { times: 1, tags: [] },
    { times: Math.ceil(KILLS / 2), tags: ["long"] },
  ])("under building", ({ times, tags }) => {
    it(`${times} times`, { tags, timeout: TIMEOUT_MS }, async () => {
      let datadir = "";
      let stored: StoredChain | undefined;
      let nextSeed = 1;
      let acknowledgements = 0;
      let startupMs = 1000;
      let underStart = 0;
      let withoutAnswer = 0;
      let reorganisations = 0;
      for (let kills = 0; kills < times; kills++) {
        if (stored === undefined || stored.head.number > MAX_BUILT_BLOCKS) {
          datadir = join(folder, `build-${times}-${kills}`);
          stored = undefined;
        }
        const startMs = performance.now();
        const client = new KillableClient(PROGRAM, [
          `--chain=${genesisPath}`,
          `--datadir=${datadir}`,
          "--authrpc.port=0",
          "--max-peers=0",
        ]);
        if (kills % 5 === 4 && stored !== undefined) {
          // Killed during its start: nothing may have changed.
          expect(await client.killAfter(random() * startupMs)).toBe(true);
          const expected = stored;
          await after(
            () => `killed under its start on ${datadir}`,
            async () => {
              const found = await checkedChain(datadir);
              expect(differenceOf(found?.chain ?? [], expected.chain)).toBe("");
              expect(found).toEqual(expected);
            },
          );
          underStart++;
          continue;
        }
        const port = await client.enginePort();
        if (port === undefined) await client.killAfter(0);
        startupMs = performance.now() - startMs;
        const jwtSecret = hexToBytes(readFileSync(join(datadir, "jwt.hex"), "utf8").trim());
        const engine = createRpcClient({ url: `http://127.0.0.1:${port}`, jwtSecret, timeoutMs: REQUEST_TIMEOUT_MS });
        const latest = await engine.call<{ hash: Hex; number: Hex }>("eth_getBlockByNumber", ["latest", false]);
        if (stored !== undefined) expect(latest.hash).toBe(stored.head.hash);
        const begin: Choice = stored ?? { chain: [latest.hash], safe: undefined, finalized: undefined };
        const driver = new EngineDriver(engine, begin, nextSeed);
        while (driver.acknowledgements < LEAST_ACKNOWLEDGEMENTS) await driver.buildBlock();
        let isDying = false;
        const dying = client.killAfter(random() * 1000).then((isKilled) => {
          isDying = true;
          return isKilled;
        });
        // Ends when the connection breaks; any answer other than VALID before that is a failure.
        let failure: unknown;
        try {
          for (;;) await driver.buildBlock();
        } catch (error) {
          failure = error;
        }
        const isKilled = await dying;
        await engine.close();
        if (!isKilled || !isDying || !isConnectionLost(failure)) throw failure;
        const story = (): string =>
          `building on ${datadir}, killed with head ${driver.acknowledged.chain.length - 1} acknowledged` +
          `${driver.asked === undefined ? "" : ` and ${driver.asked.chain.length - 1} asked for`} (log "${client.log.slice(-500)}")`;
        stored = await after(story, async () => {
          const found = await checkedChain(datadir);
          const choices = [driver.acknowledged, ...(driver.asked === undefined ? [] : [driver.asked])];
          const differences = choices.map(({ chain }) => differenceOf(found?.chain ?? [], chain));
          if (!differences.includes("")) throw new Error(differences.join("; or "));
          expect(choices.map(choiceOf)).toContainEqual(choiceOf(found!));
          return found;
        });
        if (driver.asked !== undefined) withoutAnswer++;
        nextSeed = driver.nextSeed;
        acknowledgements += driver.acknowledgements;
        reorganisations += driver.reorganisations;
      }
      report(`building: ${times} kills, ${underStart} under the start, ${withoutAnswer} with a fork choice under way`);
      report(`building: ${acknowledgements} fork choices acknowledged, ${reorganisations} reorganisations`);
      expect(acknowledgements).toBeGreaterThanOrEqual((times - underStart) * LEAST_ACKNOWLEDGEMENTS);
    });
  });
});

describe("kill -9 of a client that builds many blocks at once", () => {
  it(`${Math.ceil(KILLS / 3)} times`, { tags: "long", timeout: TIMEOUT_MS }, async () => {
    const datadir = join(folder, "build-many");
    /** canonical hashes that the client has told */
    const told: Hex[] = [];
    /** what was found after each kill */
    const stored: (readonly Hex[])[] = [];
    let unanswered = 0;
    for (let kills = 0; kills < Math.ceil(KILLS / 3); kills++) {
      const client = new KillableClient(PROGRAM, [
        `--chain=${genesisPath}`,
        `--datadir=${datadir}`,
        "--authrpc.port=0",
        "--max-peers=0",
      ]);
      const port = await client.enginePort();
      if (port === undefined) await client.killAfter(0);
      const jwtSecret = hexToBytes(readFileSync(join(datadir, "jwt.hex"), "utf8").trim());
      const engine = createRpcClient({ url: `http://127.0.0.1:${port}`, jwtSecret, timeoutMs: REQUEST_TIMEOUT_MS });
      if (told.length === 0) told.push((await engine.call<{ hash: Hex }>("eth_getBlockByNumber", ["latest", false])).hash);
      let isAsking = false;
      /** Asks for the blocks after those that were told; a block that was stored without an answer must come out the same. */
      const extend = async (): Promise<void> => {
        const head = told.length - 1;
        const wanted = Array.from({ length: BLOCKS_A_CALL }, (_, index) => {
          const number = head + index;
          return { ...attributesJson(number + 1, GENESIS_TIME_SEC + 2 * number), noTxPool: true };
        });
        const zero = bytesToHex(ZERO_HASH);
        const state = { headBlockHash: told.at(-1), safeBlockHash: zero, finalizedBlockHash: zero };
        isAsking = true;
        const answer = await engine.call<{ payloadStatus: { status: string }; headers: Hex[]; refusal: unknown }>(
          "engine_rnodeBuildBlocksV1",
          [state, wanted],
        );
        isAsking = false;
        if (answer.payloadStatus.status !== "VALID" || answer.refusal !== null) throw new Error(JSON.stringify(answer));
        told.push(...answer.headers.map((header) => bytesToHex(keccak256(hexToBytes(header)))));
      };
      await extend();
      const dying = client.killAfter(random() * 1000);
      let failure: unknown;
      try {
        for (;;) await extend();
      } catch (error) {
        failure = error;
      }
      const isKilled = await dying;
      await engine.close();
      if (!isKilled || !isConnectionLost(failure)) throw failure;
      if (isAsking) unanswered++;
      const story = (): string =>
        `building many on ${datadir}, killed with head ${told.length - 1} told (log "${client.log.slice(-500)}")`;
      await after(story, async () => {
        const found = await checkedChain(datadir);
        const chain = found?.chain ?? [];
        expect(differenceOf(chain.slice(0, told.length), told)).toBe("");
        expect(chain.length).toBeLessThanOrEqual(told.length + BLOCKS_A_CALL);
        // What the client stored without telling it will be asked for again, and must be the same blocks.
        stored.push(chain);
      });
    }
    for (const chain of stored) expect(differenceOf(told.slice(0, chain.length), chain.slice(0, told.length))).toBe("");
    report(`building many: ${Math.ceil(KILLS / 3)} kills, ${unanswered} with a call under way, ${told.length - 1} blocks told`);
  });
});

const choiceOf = ({ chain, safe, finalized }: Choice) => ({ chain: [...chain], safe, finalized });

const isConnectionLost = (error: unknown): boolean => isCodedError(error, "rpc/unreachable");

/** Prints the summary of a long run. */
function report(text: string): void {
  if (process.env.RNODE_KILLS !== undefined) console.log(text);
}
