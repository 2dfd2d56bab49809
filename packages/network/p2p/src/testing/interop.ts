import assert from "node:assert/strict";
import { bytesToHex } from "@rnode/primitives";
import { type InteropCase, runCases, until } from "@rnode/program/testing";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { PayloadVersion } from "../wire/payload-ssz.ts";
import { type GoAnswer, type GoBlock, type GoPeer, type GoPeerView, startGoPeer } from "./go-peer.ts";
import { nowSec } from "./running-clock.ts";
import { goBlockOf, rollupOf, testBlock, testChain } from "./test-blocks.ts";
import { SEQUENCER_KEY_HEX, TestNode, type TestNodeOptions } from "./test-node.ts";

/** The resources of a case, which are closed after it. */
interface Stage {
  readonly go: (...args: string[]) => Promise<GoPeer>;
  readonly node: (options: TestNodeOptions) => Promise<TestNode>;
}

const VERSIONS: readonly PayloadVersion[] = [1, 2, 3, 4];
const CHAIN_AGE_SEC = 1_000;
/** The chain of `testRollupConfig`. */
const CHAIN = "--chain=901";
/** The key that signs this network's blocks. */
const AS_SEQUENCER = `--key=${SEQUENCER_KEY_HEX}`;

/** Each case has its own nodes. @returns numbers of passed and failed cases */
export function runInterop(binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> {
  const stageOf = (onClose: (close: () => Promise<unknown>) => void): Stage => ({
    go: async (...args) => {
      const peer = await startGoPeer(binary, [CHAIN, ...args]);
      onClose(() => peer.close());
      return peer;
    },
    node: async (options) => {
      const node = await TestNode.start(options);
      onClose(() => node.close());
      return node;
    },
  });
  return runCases(CASES, stageOf, print);
}

const rollupNow = (version: PayloadVersion) => rollupOf(version, nowSec() - CHAIN_AGE_SEC);

let height = 100_000;
const transactions = [Uint8Array.of(0x7e, 1), new Uint8Array(300).fill(9), Uint8Array.of(2)];
const newBlock = (version: PayloadVersion, txs: readonly Uint8Array[] = transactions): ExecutionPayloadEnvelope =>
  testBlock(rollupNow(version), { number: height++, timestampSec: nowSec(), transactions: txs });

const sentBy = async (go: GoPeer, version: PayloadVersion, txs?: readonly Uint8Array[]): Promise<GoBlock> =>
  go.ask("publish", { block: goBlockOf(newBlock(version, txs), version) });

/** Connects, and waits until blocks go both ways: each side takes the other into its mesh in its own time. */
async function meet(go: GoPeer, node: TestNode, version: PayloadVersion): Promise<void> {
  await go.ask("connect", { address: node.address });
  const first = new Set<string>();
  await until("a block from Go", async () => {
    first.add((await sentBy(go, version, [])).blockHash);
    return [...first].some((hash) => node.arrivals.has(hash));
  });
  const ours = new Set<string>();
  let came = false;
  const event = go.event("one of our blocks", (each) => each.event === "block" && ours.has(each.block.blockHash), 10_000);
  void event.then(
    () => (came = true),
    () => {},
  );
  await until("Go to have one of our blocks", async () => {
    const block = newBlock(version, []);
    ours.add(bytesToHex(block.executionPayload.blockHash));
    await node.publish(block);
    return came;
  });
}

async function exchange(go: GoPeer, node: TestNode, version: PayloadVersion, txs: readonly Uint8Array[]): Promise<void> {
  const theirs = await sentBy(go, version, txs);
  const { envelope, from } = await node.arrived(theirs.blockHash);
  assert.equal(from, go.identity.peerId);
  assert.deepEqual(goBlockOf(envelope, version), theirs);

  const ours = newBlock(version, txs);
  const hash = bytesToHex(ours.executionPayload.blockHash);
  assert.equal((await node.publish(ours)).kind, "published");
  const seen = await go.event(`block ${hash}`, (each) => each.event === "block" && each.block.blockHash === hash, 10_000);
  assert.equal(seen.event, "block");
  if (seen.event === "block") assert.deepEqual(seen.block, goBlockOf(ours, version));
}

const CASES: readonly InteropCase<Stage>[] = [
  {
    name: "connection by noise and yamux, dialled by us; identify and topics of both",
    run: async ({ go: startGo, node: startNode }) => {
      const [go, node] = [await startGo(), await startNode({ rollup: rollupNow(4) })];
      await node.network.api.connectPeer(go.identity.addresses[0]!);
      await until("both to know each other's topics", async () => {
        const { peers } = await node.network.api.peers(true);
        const [seen] = await go.ask<GoPeerView[]>("peers");
        return peers[go.identity.peerId]?.gossipBlocks === true && seen?.subscribed.length === VERSIONS.length;
      });
      const [seen] = await go.ask<GoPeerView[]>("peers");
      assert.deepEqual(
        [seen?.id, seen?.direction, seen?.security, seen?.muxer, seen?.agent],
        [node.peerId, "Inbound", "/noise", "/yamux/1.0.0", "rnode/test"],
      );
      const known = (await node.network.api.peers(true)).peers[go.identity.peerId]!;
      assert.deepEqual([known.userAgent, known.direction], ["rnode-interop", 2]);
      for (const form of ["", "/"]) {
        const protocol = `/opstack/req/payload_by_number/901/0${form}`;
        assert.ok(known.protocols?.includes(protocol), `Go's ${protocol}`);
        assert.ok(seen?.protocols.includes(protocol), `our ${protocol}`);
      }
    },
  },
  {
    name: "connection by mplex where the other has nothing else, dialled by it; a block over it",
    run: async ({ go: startGo, node: startNode }) => {
      const [go, node] = [await startGo("--muxers=mplex", AS_SEQUENCER), await startNode({ rollup: rollupNow(4) })];
      await meet(go, node, 4);
      const [seen] = await go.ask<GoPeerView[]>("peers");
      assert.deepEqual([seen?.direction, seen?.security, seen?.muxer], ["Outbound", "/noise", "/mplex/6.7.0"]);
      await exchange(go, node, 4, transactions);
    },
  },
  ...VERSIONS.map((version) => ({
    name: `gossip both ways on the topic of V${version}`,
    run: async ({ go: startGo, node: startNode }: Stage) => {
      const [go, node] = [await startGo(AS_SEQUENCER), await startNode({ rollup: rollupNow(version) })];
      await meet(go, node, version);
      await exchange(go, node, version, transactions);
      await exchange(go, node, version, []);
      if (version === 4) await exchange(go, node, version, incompressible(3_000_000));
    },
  })),
  {
    name: "a block of another signer is refused by both",
    run: async ({ go: startGo, node: startNode }) => {
      const [go, stranger, node] = [await startGo(AS_SEQUENCER), await startGo(), await startNode({ rollup: rollupNow(4) })];
      await meet(go, node, 4);
      await stranger.ask("connect", { address: node.address });
      await stranger.ask("connect", { address: go.identity.addresses[0]! });
      const refused = go.event("a refusal", ({ event, from }) => event === "refused" && from === stranger.identity.peerId, 10_000);
      const sent: string[] = [];
      // Before it is in the mesh, it reaches no node.
      const sending = setInterval(() => void sentBy(stranger, 4, []).then(({ blockHash }) => sent.push(blockHash)), 100);
      await refused.finally(() => clearInterval(sending));
      await exchange(go, node, 4, transactions);
      for (const hash of sent) assert.ok(!node.arrivals.has(hash));
    },
  },
  ...VERSIONS.map((version) => ({
    name: `payload_by_number, V${version}: Go asks us, by both names of the protocol`,
    run: async ({ go: startGo, node: startNode }: Stage) => {
      const rollup = rollupNow(version);
      const [go, node] = [await startGo(), await startNode({ rollup })];
      const [block] = testChain(rollup, 5, 1);
      node.blocks.set(5, block!);
      await go.ask("connect", { address: node.address });
      for (const slash of [false, true]) {
        const answer = await go.ask<GoAnswer>("request", { peer: node.peerId, number: 5, slash });
        assert.deepEqual([answer.result, answer.version], [0, version < 3 ? 0 : 1]);
        assert.equal(answer.protocol.endsWith("/"), slash);
        assert.deepEqual(answer.block, goBlockOf(block!, version));
      }
      const unknown = await go.ask<GoAnswer>("request", { peer: node.peerId, number: 6 });
      const future = await go.ask<GoAnswer>("request", { peer: node.peerId, number: CHAIN_AGE_SEC });
      assert.deepEqual([unknown.result, future.result], [1, 2]);
    },
  })),
  ...VERSIONS.map((version) => ({
    name: `payload_by_number, V${version}: we fill a gap from Go`,
    run: async ({ go: startGo, node: startNode }: Stage) => {
      const rollup = rollupNow(version);
      const [go, node] = [await startGo(), await startNode({ rollup })];
      const chain = testChain(rollup, 1, 8);
      for (const block of chain) {
        const stored = await go.ask<GoBlock>("store", { block: goBlockOf(block, version) });
        assert.deepEqual(stored, goBlockOf(block, version));
      }
      await node.network.api.connectPeer(go.identity.addresses[0]!);
      await until("the gap to be filled", () => {
        const [first, last] = [chain[0]!.executionPayload, chain.at(-1)!.executionPayload];
        node.network.requestGap({
          start: { number: first.blockNumber, hash: first.blockHash },
          end: { number: last.blockNumber, hash: last.blockHash, parentHash: last.parentHash },
        });
        return node.arrivals.size === chain.length - 2;
      });
      for (const block of chain.slice(1, -1)) {
        const { envelope, from } = await node.arrived(block);
        assert.equal(from, go.identity.peerId);
        assert.deepEqual(goBlockOf(envelope, version), goBlockOf(block, version));
      }
      const asked = new Set(await go.ask<number[]>("asked"));
      assert.deepEqual(
        [...asked].sort((a, b) => a - b),
        [2, 3, 4, 5, 6, 7],
      );
    },
  })),
  ...(["enr", "enode"] as const).map((form) => ({
    name: `discovery: Go is found by its ${form}, connected to, and finds us`,
    run: async ({ go: startGo, node: startNode }: Stage) => {
      const go = await startGo("--discovery");
      const discovery = { enabled: true, bootnodes: [go.identity[form]!] };
      const node = await startNode({ rollup: rollupNow(4), discovery });
      const found = await go.ask<{ peerId: string; address: string; chainId: number; version: number }>("find", {
        peer: node.peerId,
        timeoutMs: 20_000,
      });
      assert.deepEqual(found, { ...found, peerId: node.peerId, address: node.address, chainId: 901, version: 0 });
      await until("us to be connected to Go", async () => go.identity.peerId in (await node.network.api.peers(true)).peers);
    },
  })),
  {
    name: "discovery: a node of another chain is known and left alone",
    run: async ({ go: startGo, node: startNode }) => {
      const other = await startGo("--discovery", "--opstack-chain=902");
      const go = await startGo("--discovery", `--bootnodes=${other.identity.enr}`);
      const discovery = { enabled: true, bootnodes: [other.identity.enr!, go.identity.enr!] };
      const node = await startNode({ rollup: rollupNow(4), discovery });
      await until("us to be connected to the right one", async () => {
        return go.identity.peerId in (await node.network.api.peers(true)).peers;
      });
      await until("both records to be in the table", async () => {
        const table = (await node.network.api.discoveryTable()) ?? [];
        return [other, go].every(({ identity }) => table.includes(identity.enr!));
      });
      assert.deepEqual(Object.keys((await node.network.api.peers(true)).peers), [go.identity.peerId]);
    },
  },
];

/** Transactions of this total size. */
function incompressible(bytes: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let made = 0; made < bytes; made += 60_000) pieces.push(crypto.getRandomValues(new Uint8Array(60_000)));
  return pieces;
}
