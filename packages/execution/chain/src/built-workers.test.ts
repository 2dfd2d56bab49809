import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bytesToHex } from "@rnode/primitives";
import { until } from "@rnode/program/testing";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { startKzgVerifier } from "./execute/kzg.ts";
import { PreparedBlock } from "./prepared-block.ts";
import { createSenderCache } from "./senders/senders.ts";
import { type LiveRoots, startLiveRoots } from "./state-roots/live-roots.ts";
import { startStateRoots } from "./state-roots/root-thread.ts";
import { ACCOUNTS, type DevChain, forkchoice, openDevChain, transaction } from "./testing/dev-chain.ts";
import { ModelChain } from "./testing/model-chain.ts";

/*
 * The threads as they are shipped, each of which ends, throws outside of every answer, or never answers again, in the middle of its work. What
 * it was to make is made all the same, and another thread takes its place.
 */

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const THREADS = {
  program: pathToFileURL(join(PACKAGE, "../../kit/threads/test-programs/faulty-worker.mjs")),
  maxSilenceMs: 5000,
  execArgv: [],
};
const TIMEOUT_MS = 120_000;

let folder: string;
let faultFile: string;
const opened: DevChain[] = [];

beforeAll(() => {
  const built = spawnSync(join(PACKAGE, "../../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (built.error !== undefined) throw built.error;
}, TIMEOUT_MS);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-workers-"));
  faultFile = join(folder, "fault");
  vi.stubEnv("RNODE_FAULT", faultFile);
});
afterEach(async () => {
  for (const dev of opened.splice(0)) await dev.remove();
  vi.unstubAllEnvs();
});

const useProgram = (name: string): void => {
  vi.stubEnv("RNODE_WORKER", pathToFileURL(join(PACKAGE, "lib", name)).href);
};
const hasHappened = (): boolean => !existsSync(faultFile);

describe.each([
  { fault: "exit", tags: [] },
  { fault: "throw", tags: ["long"] },
  { fault: "hang", tags: ["long"] },
])("where a thread is asked and does this: $fault", { timeout: TIMEOUT_MS }, ({ fault, tags }) => {
  it("live blocks have their right roots, and the thread comes back", { tags }, async () => {
    useProgram("live-roots-worker.js");
    const model = new ModelChain("canyon", 5);
    const { genesis, config } = model;
    let roots: LiveRoots | undefined;
    const start = (of: string): LiveRoots | undefined => (roots = startLiveRoots(of, 100_000, 1, THREADS));
    const { chain, store } = open({ genesis, config, liveRoots: ({ folder: of }) => start(of) });
    let tip = model.first;
    const next = (): void => {
      tip = model.extend(tip, 1)[0]!;
      expect(chain.newPayload(new PreparedBlock(tip.block)).status).toBe("VALID");
      chain.forkchoiceUpdated(forkchoice(tip.hash), undefined, 3);
      expect(chain.head().hash).toBe(bytesToHex(tip.hash));
    };
    const untilThreadAnswers = () =>
      until(() => {
        next();
        return roots!.nodeCount > 0;
      });
    await untilThreadAnswers();
    writeFileSync(faultFile, fault);
    next();
    expect(hasHappened()).toBe(true);
    expect(roots!.nodeCount).toBe(0);
    await untilThreadAnswers();
    expect(store.verifyState().problems).toEqual([]);
  });

  it("imported blocks have their right roots, and later ones a thread again", { tags }, async () => {
    useProgram("root-worker.js");
    const model = new ModelChain("canyon", 6);
    const { genesis, config } = model;
    const blocks = model.extend(model.first, 40);
    writeFileSync(faultFile, fault);
    let starts = 0;
    let sealed = 0;
    const startGroupRoots: typeof startStateRoots = (...of) => {
      starts++;
      const started = startStateRoots(of[0], of[1], THREADS);
      const seal = async () => {
        const roots = await started.seal();
        if (roots !== undefined) sealed++;
        return roots;
      };
      return { ...bound(started), seal };
    };
    const { chain, store } = open({ genesis, config, startGroupRoots });
    const stored: number[] = [];
    const onStored = ({ header }: { header: { number: number } }) => stored.push(header.number);
    expect(await chain.import(blocks, { groupBlocks: 4, onStored })).toBeUndefined();
    expect(hasHappened()).toBe(true);
    expect(starts).toBe(2);
    expect(sealed).toBeGreaterThan(0);
    expect(stored).toEqual(blocks.map(({ block }) => block.header.number));
    expect(chain.head().hash).toBe(bytesToHex(blocks.at(-1)!.hash));
    expect(store.verifyState().problems).toEqual([]);
  });

  it("transactions have their senders, and a thread recovers the next ones", { tags }, async () => {
    useProgram("sender-worker.js");
    const senders = createSenderCache({ workers: 1, threads: THREADS });
    const transactions = Array.from({ length: 40 }, (_, nonce) => transaction(nonce % 3, nonce));
    const expected = transactions.map((_, nonce) => ACCOUNTS[nonce % 3]!);
    writeFileSync(faultFile, fault);
    expect(await senders.recoverAhead(transactions)).toEqual(expected);
    expect(hasHappened()).toBe(true);
    expect(await senders.recoverAhead(transactions, false)).toEqual(expected);
    const block = { header: new ModelChain("canyon", 1).first.block.header, transactions, ommers: [] };
    await until(async () => (await senders.prepare(block)).senders !== undefined); // only a thread makes them ahead
    expect((await senders.prepare(block)).senders).toEqual(expected);
    await senders.close();
  });
});

it("proofs of point evaluations have no answer until their thread has loaded its library, and when it hangs", {
  tags: "long",
  timeout: TIMEOUT_MS,
}, async () => {
  useProgram("kzg-proof-thread.js");
  const verifier = startKzgVerifier({ ...THREADS, maxSilenceMs: 20_000 });
  const infinity = new Uint8Array(48);
  infinity[0] = 0xc0;
  // the zero polynomial's commitment and proof
  const proves = (y: number, commitment = infinity) =>
    verifier.verifyKzgProof(commitment, new Uint8Array(32), new Uint8Array(32).with(31, y), infinity);
  expect(proves(0)).toBeUndefined();
  await until(() => proves(0) === true);
  expect([proves(1), proves(0, new Uint8Array(48))]).toEqual([false, false]);
  writeFileSync(faultFile, "hang");
  expect(proves(0)).toBeUndefined();
  expect(hasHappened()).toBe(true);
});

function open(given: Parameters<typeof openDevChain>[1]): DevChain {
  const dev = openDevChain("canyon", given);
  opened.push(dev);
  return dev;
}

function bound(roots: ReturnType<typeof startStateRoots>): Omit<ReturnType<typeof startStateRoots>, "seal"> {
  return {
    add: (...of) => roots.add(...of),
    committed: () => roots.committed(),
    close: () => roots.close(),
  };
}
