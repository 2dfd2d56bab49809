import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createL1Metrics } from "@rnode/l1";
import { createMetrics, noMetrics, silentLogger } from "@rnode/observe";
import { systemClock } from "@rnode/program";
import { expect, it, onTestFinished } from "vitest";
import { createNodeMetrics } from "../metrics.ts";
import { hashOf, type SimContent, SimSetChain } from "../testing/sim-set.ts";
import { AccessListFilter } from "./access-list-filter.ts";
import { chainMetrics } from "./chain-metrics.ts";
import { CrossUnsafe } from "./cross-unsafe.ts";
import { SetDatabase } from "./set-database.ts";
import { observeSet } from "./set-metrics.ts";
import { setRules } from "./set-rules.ts";
import { SetStatus } from "./set-status.ts";
import { SetVerifier } from "./set-verifier.ts";

const A = 901n;
const B = 902n;
const L1 = { number: 1, hash: hashOf("l1") };

it("says which chain is waited for, what was verified and denied, and how far each level is", async () => {
  const database = SetDatabase.open(mkdtempSync(join(tmpdir(), "status-")), [A, B], silentLogger);
  onTestFinished(() => database.close());
  const config = { genesisSec: 100, blockTimeSec: 1, lagoonSec: 100 };
  const chains = [A, B].map((chainId) => new SimSetChain(chainId, config, database));
  const [a, b] = chains as [SimSetChain, SimSetChain];
  const rules = setRules(chains, 40);
  const crossUnsafe = new CrossUnsafe({ chains, rules, database, startSec: 100 });
  const filter = new AccessListFilter({ chains, rules, database, crossUnsafe });
  const deps = { chains, expiryWindowSec: 40, database, checkL1: async () => "canonical" as const, log: silentLogger };
  const verifier = new SetVerifier(deps);
  const status = new SetStatus({ chains, database, crossUnsafe, filter });
  const metrics = createMetrics({ prefix: "", ofProcess: false });
  observeSet(metrics, status);
  const say = (chain: SimSetChain, content: SimContent): void => chain.say(content, L1);
  for (let number = 0; number < 8; number++) say(a, { logs: 1, executes: [] });
  const good = { chainId: A, number: 2, logIndex: 0, timestamp: 102 };
  for (let number = 0; number < 6; number++) {
    const executes = number === 3 ? [good, good] : number === 5 ? [{ ...good, logIndex: 1 }] : [];
    say(b, { logs: 0, executes });
  }
  await crossUnsafe.advance();
  expect(status.failsafe()).toHaveLength(1);
  for (let rounds = 0; rounds < 20; rounds++) status.note(await verifier.round());
  await crossUnsafe.advance();
  expect(status.waitsFor).toBe("chain 902 up to time 106");
  expect(status.recent).toEqual([2, 2].map((fromBlock) => ({ from: A, fromBlock, to: B, toBlock: 3, timestamp: 103 })));
  const { body } = await metrics.expose();
  const lines = body.split("\n").filter((line) => !line.startsWith("#") && line !== "");
  expect(lines).toEqual([
    'set_time{level="read"} 105',
    'set_time{level="cross-unsafe"} 105',
    'set_time{level="cross-safe"} 105',
    'set_cross_unsafe_number{chain="901"} 5',
    'set_cross_unsafe_number{chain="902"} 5',
    'set_waited_for{chain="901"} 0',
    'set_waited_for{chain="902"} 1',
    'set_messages_verified{from="901",to="902"} 2',
    'set_denied_blocks{chain="901"} 0',
    'set_denied_blocks{chain="902"} 1',
    "set_rewinds 0",
    "set_failsafe 0",
  ]);
  expect(status.faults).toEqual([]);
  status.noteTrouble("no answer");
  expect(status.faults).toEqual(["verification of the set: no answer"]);
});

it("has the metrics of L1 once, and not for each chain", async () => {
  const metrics = createMetrics({ prefix: "", ofProcess: false });
  const sources: (() => Promise<readonly (readonly object[])[]>)[] = [];
  const program = { ...metrics, include: (collect: (typeof sources)[number]) => void sources.push(collect) };
  createL1Metrics(metrics).blockRead();
  for (const chainId of [A, B]) createNodeMetrics(chainMetrics(program, true, chainId), systemClock, noMetrics);
  const { body } = await metrics.expose((await Promise.all(sources.map((collect) => collect()))).flat());
  expect(body.match(/^.*l1_blocks_read_total.*$/gm)!.at(-1)).toBe("l1_blocks_read_total 1");
  expect(body.match(/^(?:rnode_default_)?l1_.*chain=.*$/gm)).toBeNull();
  expect(body).toMatch(/^rnode_default_derivation_errors_total\{chain="901"\} 0$/m);
});

it("tells the metrics of chains apart by a label, those of their threads as well", async () => {
  const metrics = createMetrics({ prefix: "rnode_default_", ofProcess: false });
  const sources: (() => Promise<readonly (readonly object[])[]>)[] = [];
  const program = { ...metrics, include: (collect: (typeof sources)[number]) => void sources.push(collect) };
  for (const chainId of [A, B]) {
    const own = chainMetrics(program, true, chainId);
    own.counter("blocks_total", "Blocks.").add(Number(chainId));
    const thread = createMetrics({ prefix: "rnode_default_", ofProcess: false });
    thread.gauge("peers", "Peers.").set(1);
    own.include(async () => [await thread.collect()]);
  }
  chainMetrics(program, false, 903n).counter("blocks_total", "Blocks.").inc();
  const { body } = await metrics.expose((await Promise.all(sources.map((collect) => collect()))).flat());
  const lines = body.split("\n").filter((line) => !line.startsWith("#") && line !== "");
  expect(lines.sort()).toEqual([
    'rnode_default_blocks_total{chain="901"} 901',
    'rnode_default_blocks_total{chain="902"} 902',
    'rnode_default_peers{chain="901"} 1',
    'rnode_default_peers{chain="902"} 1',
  ]);
});
