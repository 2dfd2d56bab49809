// @module-tag long
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { freePort } from "@rnode/program/testing";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Program } from "../processes/program.ts";
import { rpcCall } from "../rpc.ts";
import type { SyncStatus } from "../status.ts";
import { rnodeSet } from "./rnode-set.ts";
import { A, B, TwoChains } from "./two-chains.ts";
import { waitFor } from "./wait.ts";

// Two rollups on one L1, and `rnode set`, which derives both, verifies their messages, and is followed by a light node.

const folder = mkdtempSync(join(tmpdir(), "rnode-set-e2e-"));
const scope = new Scope({ log: silentLogger, clock: systemClock });
let chains: TwoChains;
let port = 0;
let metricsPort = 0;
let set: Program;

const ask = <T>(path: string, method: string, params: readonly unknown[] = []): Promise<T> =>
  rpcCall<T>(`http://127.0.0.1:${port}${path}`, method, params);
const statusOf = (chainId: number): Promise<SyncStatus> => ask(`/${chainId}`, "optimism_syncStatus");

beforeAll(async () => {
  chains = await TwoChains.start(scope, { folder, nodes: 2, seqWindowSize: 25 });
  port = await freePort();
  metricsPort = await freePort();
  const args = ["--metrics.enabled", "--metrics.addr=127.0.0.1", `--metrics.port=${metricsPort}`];
  set = rnodeSet(chains, { folder, port, args });
  await set.start();
  scope.onClose("rnode set", () => set.stop());
}, 400_000);
afterAll(() => scope.close(), 120_000);

const safePast = (chainId: number, number: number): Promise<SyncStatus> =>
  waitFor(`a cross-safe block after ${number} of chain ${chainId}`, 240_000, async () => {
    const status = await statusOf(chainId);
    return status.safe_l2.number > number ? status : undefined;
  });

it("verifies both chains, and serves each at its path", { timeout: 300_000 }, async () => {
  for (const chainId of [A, B]) {
    const status = await safePast(chainId, 5);
    const { number, hash } = status.safe_l2;
    expect(hash).toBe(await chains.viewOf(chainId).blockHash("sequencer", number));
    expect(status).toMatchObject({ local_safe_l2: { number: expect.any(Number) } });
  }
  const whole = await ask<{ chains: object; chain_ids: string[]; safe_timestamp: number }>("", "supernode_syncStatus");
  expect(whole.chain_ids).toEqual([String(A), String(B)]);
  const at = `0x${whole.safe_timestamp.toString(16)}`;
  interface SuperRoot {
    readonly data?: { super: { chains: { ChainID: string; Output: Hex }[] } };
    readonly optimistic_at_timestamp: Record<string, { output_root: Hex }>;
  }
  // the engines called blocks final before there was a set
  const { data, optimistic_at_timestamp: optimistic } = await waitFor("a super root", 120_000, async () => {
    const answer = await ask<SuperRoot>("", "superroot_atTimestamp", [at]);
    return answer.data && { ...answer, data: answer.data };
  });
  expect(data.super.chains.map(({ ChainID, Output }) => [ChainID, Output])).toEqual(
    Object.entries(optimistic).map(([id, { output_root: root }]) => [id, root]),
  );
  await expect(ask("/903", "optimism_syncStatus")).rejects.toThrow();
});

it("counts the requests to L1 once, and those to its engine for each chain", async () => {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const of = (pattern: RegExp): { labels: string; value: number }[] =>
    [...text.matchAll(pattern)].map(([, labels, value]) => ({ labels: labels!, value: Number(value) }));
  const l1 = of(/^rnode_default_l1_\w*(?<!bucket|sum|count)\{?(.*?)\}? (\S+)$/gm);
  expect(l1.filter(({ labels }) => labels.includes("chain="))).toEqual([]);
  expect(of(/^rnode_default_l1_blocks_read_total(.*) (\S+)$/gm)).toEqual([{ labels: "", value: expect.toSatisfy((n) => n > 0) }]);
  const requests = of(/^rnode_default_rpc_client_requests_total\{(.*)\} (\S+)$/gm).filter(({ value }) => value > 0);
  const chainsOf = (rpc: string) =>
    new Set(
      requests.filter(({ labels }) => labels.includes(`server="${rpc}"`)).map(({ labels }) => /chain="(\d+)"/.exec(labels)?.[1]),
    );
  expect(chainsOf("l1")).toEqual(new Set([undefined]));
  expect(chainsOf("l2")).toEqual(new Set([String(A), String(B)]));
});

it("passes a message between the chains, replaces a block with one that nobody sent, and goes on", {
  timeout: 900_000,
}, async () => {
  const sent = await chains.send(A, "0x1234");
  const good = await chains.execute(B, sent);
  const afterGood = await safePast(B, Number(good.blockNumber));
  expect(afterGood.safe_l2.number).toBeGreaterThan(Number(good.blockNumber));
  const ownEngine = chains.b.info.endpoints.verifier!.http;
  expect(await rpcCall(ownEngine, "eth_getBlockByNumber", [good.blockNumber, false])).toMatchObject({ hash: good.blockHash });

  const bad = await chains.execute(B, { ...sent, logIndex: sent.logIndex + 1n });
  await safePast(B, Number(bad.blockNumber));
  const replaced = await rpcCall<{ hash: Hex; transactions: { type: Hex }[] }>(ownEngine, "eth_getBlockByNumber", [
    bad.blockNumber,
    true,
  ]);
  expect(replaced.hash).not.toBe(bad.blockHash);
  expect(replaced.transactions.map(({ type }) => type)).toEqual(["0x7e"]);
  await set.stop();
  await set.start();
  const again = await safePast(B, Number(bad.blockNumber) + 3);
  expect(again.safe_l2.number).toBeGreaterThan(Number(bad.blockNumber));
  expect(await rpcCall(ownEngine, "eth_getBlockByNumber", [bad.blockNumber, false])).toMatchObject({ hash: replaced.hash });
  expect(await statusOf(A)).toMatchObject({ safe_l2: { number: expect.any(Number) } });
});
