import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import { noMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { parseOptions, Scope, systemClock } from "@rnode/program";
import { envelopeToJson } from "@rnode/protocol";
import type { RunningConductor } from "../open-servers.ts";
import { rconductorOptions } from "../options.ts";
import { startConductor } from "../start-conductor.ts";
import { VERSION } from "../version.ts";
import { samplePayload } from "./sample-payload.ts";
import { type StubSequencer, startStubSequencer } from "./stub-sequencer.ts";

export interface TestConductor extends RunningConductor {
  readonly rpc: RpcClient;
  readonly proxy: RpcClient;
  readonly proxyUrl: string;
  readonly node: StubSequencer;
  readonly close: () => Promise<unknown>;
}

/**
 * rconductor in this process, with its proxy, over a stub of a sequencer.
 *
 * @param args those of etcd and the server's id, and what else is wanted
 * @param closers is given what must be called at the end, the last one first
 */
export async function startTestConductor(
  args: readonly string[],
  closers: (() => unknown)[],
  stub?: StubSequencer,
): Promise<TestConductor> {
  const node = stub ?? (await startStubSequencer());
  if (stub === undefined) closers.push(() => node.close());
  const fixed = ["--rpc.addr=127.0.0.1", "--rpc.port=0", "--proxy", "--proxy.addr=127.0.0.1", "--proxy.port=0"];
  const quick = ["--etcd.poll-interval=30ms", "--proxy.wait=3s", "--l1.reorg-wait=300ms"];
  const endpoints = [`--rollup-rpc=${node.url}`, `--execution-rpc=${node.url}`, `--execution-ws=${node.url.replace("http", "ws")}`];
  const own = [...endpoints, ...fixed, ...quick];
  const parsed = parseOptions(rconductorOptions, [...own, ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  closers.push(() => scope.close());
  const health = () => ({ isHealthy: true, body: { version: VERSION } });
  const deps = { clock: systemClock, log: silentLogger, metrics: noMetrics, health };
  const running = await startConductor(scope, parsed.options, deps);
  running.ready.catch(() => {});
  const proxyUrl = `http://127.0.0.1:${running.proxyPort}`;
  const [rpc, proxy] = [`http://127.0.0.1:${running.rpcPort}`, proxyUrl].map((url) => createRpcClient({ url })) as [
    RpcClient,
    RpcClient,
  ];
  closers.push(
    () => rpc.close(),
    () => proxy.close(),
  );
  return { ...running, rpc, proxy, proxyUrl, node, close: () => scope.close() };
}

/** The conductor's node makes a block. @returns its hash. @throws {RpcError} it was not committed */
export async function produce({ node, rpc }: Pick<TestConductor, "node" | "rpc">): Promise<string> {
  const { number, hash } = node.head;
  const envelope = samplePayload(number + 1, hexToBytes(hash));
  await rpc.call("conductor_commitUnsafePayload", [envelopeToJson(envelope)]);
  node.head = { number: number + 1, hash: bytesToHex(envelope.executionPayload.blockHash) };
  return node.head.hash;
}

/** Commits a block that the node then does not execute. */
export async function commitUnexecutable({ node, rpc }: Pick<TestConductor, "node" | "rpc">) {
  const { number, hash: parent } = node.head;
  const envelope = samplePayload(number + 1, hexToBytes(parent));
  await rpc.call("conductor_commitUnsafePayload", [envelopeToJson(envelope)]);
  const hash = bytesToHex(envelope.executionPayload.blockHash);
  const undo = (at: Pick<TestConductor, "rpc">, which: string = hash): Promise<unknown> =>
    at.rpc.call("conductor_undoUnsafePayload", [which]);
  return { hash, undo };
}
