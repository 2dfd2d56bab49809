import assert from "node:assert/strict";
import { bytesToHex, decodeRlp, encodeRlp, equalBytes, type Hex, keccak256, type RlpItem } from "@rnode/primitives";
import { GoProgram, type InteropCase, runCases, until } from "@rnode/program/testing";
import { encodeBlock, encodeHeader, encodeReceipt, encodeTransaction, hashTransaction } from "@rnode/protocol";
import type { BlockCommit } from "@rnode/storage";
import type { BlockPeer } from "../api.ts";
import { transfer } from "./plain-chain.ts";
import { startTestNode, type TestNode, type TestNodeOptions } from "./test-node.ts";

/** The Go program's first output. */
interface GoIdentity {
  readonly enode: string;
  readonly enr: string;
  readonly forkId: Hex;
}
interface GoCommand {
  readonly enode: string;
  /** keccak256 of the public key */
  readonly peer: string;
  readonly number: number;
  readonly hash: Hex;
  readonly limit: number;
  readonly skip: number;
  readonly reverse: boolean;
  readonly hashes: readonly Hex[];
  readonly txs: readonly Hex[];
  readonly blocks: readonly { readonly header: Hex; readonly body: Hex; readonly receipts: Hex }[];
}
type GoEvent =
  | {
      readonly event: "connected";
      readonly peer: string;
      readonly version: number;
      readonly status: { readonly head: Hex; readonly latest?: number };
    }
  | { readonly event: "disconnected"; readonly peer: string; readonly reason: string }
  | { readonly event: "announced"; readonly hashes: readonly Hex[]; readonly sizes: readonly number[]; readonly types: Hex }
  | { readonly event: "transactions"; readonly hashes: readonly Hex[] };
type GoPeer = GoProgram<GoIdentity, GoCommand, GoEvent>;

/** The resources of a case, which are closed after it. */
interface Stage {
  readonly go: (...args: string[]) => Promise<GoPeer>;
  readonly node: (options: TestNodeOptions) => Promise<TestNode>;
}

const BLOCKS = 60;
const GO_KEY = "0f".repeat(32);
const EVENT_LIMIT_MS = 20_000;
const DISCOVERY_LIMIT_MS = 60_000;
/** `TEST_CHAIN` in Geth's words */
const GO_CONFIG = JSON.stringify({
  chainId: 7_357,
  homesteadBlock: 0,
  londonBlock: 0,
  shanghaiTime: 0,
  cancunTime: 1_900_000_000,
});
const never = new AbortController().signal;

/** Each case has its own nodes. @returns numbers of passed and failed cases */
export function runInterop(binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> {
  const stageOf = (onClose: (close: () => Promise<unknown>) => void): Stage => ({
    go: async (...args) => {
      const peer = await GoProgram.start<GoIdentity, GoCommand, GoEvent>(binary, args);
      onClose(() => peer.close());
      return peer;
    },
    node: async (options) => {
      const node = await startTestNode({ plainDataBytes: 10, blocks: BLOCKS, ...options });
      onClose(() => node.close());
      return node;
    },
  });
  return runCases(CASES, stageOf, print);
}

function goArgs({ blocks }: TestNode, ...more: string[]): string[] {
  const headerAt = (index: number): Hex => bytesToHex(encodeHeader(blocks.at(index)!.commit.block.header));
  return [
    `--key=${GO_KEY}`,
    "--network=7357",
    `--config=${GO_CONFIG}`,
    `--genesis=${headerAt(0)}`,
    `--head=${headerAt(-1)}`,
    ...more,
  ];
}

const partsOf = ({ block, receipts }: BlockCommit, version: number): GoCommand["blocks"][number] => ({
  header: bytesToHex(encodeHeader(block.header)),
  body: bytesToHex(encodeRlp((decodeRlp(encodeBlock(block)) as readonly RlpItem[]).slice(1))),
  receipts: bytesToHex(
    encodeRlp(
      receipts.map((receipt): RlpItem => {
        const encoded = encodeReceipt(receipt, "network");
        if (version === 68) return receipt.type === 0 ? decodeRlp(encoded) : encoded;
        const [status, gas, , logs] = decodeRlp(receipt.type === 0 ? encoded : encoded.subarray(1)) as readonly RlpItem[];
        return [receipt.type === 0 ? new Uint8Array(0) : Uint8Array.of(receipt.type), status!, gas!, logs!];
      }),
    ),
  ),
});

async function connected(
  stage: Stage,
  version: 68 | 69,
  weDial: boolean,
): Promise<{ go: GoPeer; node: TestNode; peer: BlockPeer; id: string }> {
  const node = await stage.node({ key: 1 });
  const go = await stage.go(...goArgs(node, `--versions=${version}`));
  if (weDial) await node.network.admin.addPeer(go.identity.enode);
  else await go.ask("dial", { enode: node.network.identity.enode });
  const event = await go.event("connected", ({ event: name }) => name === "connected", EVENT_LIMIT_MS);
  assert.ok(event.event === "connected");
  assert.equal(event.version, version);
  assert.equal(event.peer, node.network.identity.nodeId);
  assert.equal(event.status.head, bytesToHex(node.blocks.at(-1)!.commit.hash));
  await until("our side is connected, too", () => node.network.list().length === 1);
  const [peer] = node.network.list();
  assert.ok(equalBytes(peer!.head.hash, node.blocks.at(-1)!.commit.hash));
  assert.equal(peer!.head.number, version === 69 ? BLOCKS : undefined);
  return { go, node, peer: peer!, id: event.peer };
}

const VERSIONS = [68, 69] as const;
const CASES: readonly InteropCase<Stage>[] = [
  ...VERSIONS.flatMap((version): InteropCase<Stage>[] => [
    {
      name: `eth/${version}: Geth's node dials ours, and reads headers, bodies and receipts`,
      run: async (stage) => {
        const { go, node, id } = await connected(stage, version, false);
        const hashAt = (number: number): Hex => bytesToHex(node.blocks[number]!.commit.hash);
        const forwards = await go.ask("headers", { peer: id, number: 5, limit: 10, skip: 2 });
        assert.deepEqual(
          forwards,
          Array.from({ length: 10 }, (_, index) => hashAt(5 + 3 * index)),
        );
        const backwards = await go.ask("headers", { peer: id, hash: hashAt(50), limit: 51, reverse: true });
        assert.deepEqual(
          backwards,
          Array.from({ length: 51 }, (_, index) => hashAt(50 - index)),
        );
        const hashes = node.blocks.slice(1).map(({ commit }) => bytesToHex(commit.hash));
        const bodies = await go.ask<readonly { root: Hex; transactions: readonly Hex[] }[]>("bodies", { peer: id, hashes });
        assert.deepEqual(
          bodies.map(({ root }) => root),
          node.blocks.slice(1).map(({ commit }) => bytesToHex(commit.block.header.transactionsRoot)),
        );
        assert.deepEqual(
          bodies[0]!.transactions,
          node.blocks[1]!.commit.block.transactions.map((transaction) => bytesToHex(hashTransaction(transaction))),
        );
        const roots = await go.ask("receipts", { peer: id, hashes });
        assert.deepEqual(
          roots,
          node.blocks.slice(1).map(({ commit }) => bytesToHex(commit.block.header.receiptsRoot)),
        );
      },
    },
    {
      name: `eth/${version}: our node dials Geth's, and reads headers, bodies and receipts`,
      run: async (stage) => {
        const { go, node, peer } = await connected(stage, version, true);
        const commits = node.blocks.map(({ commit }) => commit);
        const blocks = commits.map((commit) => partsOf(commit, version));
        assert.equal(await go.ask("serve", { blocks }), BLOCKS + 1);
        const headers = await peer.headers({ start: 1, limit: 20 }, never);
        assert.deepEqual(
          headers.map((header) => bytesToHex(keccak256(header))),
          commits.slice(1, 21).map(({ hash }) => bytesToHex(hash)),
        );
        const hashes = commits.slice(1).map(({ hash }) => hash);
        const [bodies, receipts] = [await peer.bodies(hashes, never), await peer.receipts(hashes, never)];
        assert.deepEqual(
          bodies.map((body) => bytesToHex(body)),
          blocks.slice(1).map(({ body }) => body),
        );
        assert.deepEqual(
          receipts.map((list) => bytesToHex(list)),
          blocks.slice(1).map(({ receipts: list }) => list),
        );
      },
    },
    {
      name: `eth/${version}: transactions by announcement and request, both ways`,
      run: async (stage) => {
        const { go, node, id } = await connected(stage, version, true);
        const ours = [transfer(1n), transfer(2n, 300)];
        for (const transaction of ours)
          node.pool.set(Buffer.from(hashTransaction(transaction)).toString("hex"), encodeTransaction(transaction));
        node.network.announce(
          ours.map((transaction) => ({
            hash: hashTransaction(transaction),
            size: encodeTransaction(transaction).length,
            type: transaction.type,
          })),
        );
        const event = await go.event("an announcement", ({ event: name }) => name === "announced", EVENT_LIMIT_MS);
        assert.ok(event.event === "announced");
        const hashes = ours.map((transaction) => bytesToHex(hashTransaction(transaction)));
        assert.deepEqual(event.hashes, hashes);
        assert.deepEqual(
          event.sizes,
          ours.map((transaction) => encodeTransaction(transaction).length),
        );
        assert.equal(event.types, "0x0202");
        assert.deepEqual(await go.ask("pooled", { peer: id, hashes: [...hashes, `0x${"00".repeat(32)}`] }), hashes);

        const theirs = [transfer(11n), transfer(12n, 5_000)].map((transaction) => bytesToHex(encodeTransaction(transaction)));
        await go.ask("announce", { txs: theirs });
        await until("announced transactions were asked for", () => node.received.length === 2);
        const pushed = bytesToHex(encodeTransaction(transfer(13n)));
        await go.ask("send", { peer: id, txs: [pushed] });
        await until("transactions that were sent", () => node.received.length === 3);
        assert.deepEqual(node.received.map(({ encoded }) => bytesToHex(encoded)).toSorted(), [...theirs, pushed].toSorted());
      },
    },
  ]),
  {
    name: "fork ids: both sides refuse a chain that forks otherwise",
    run: async (stage) => {
      const node = await stage.node({ key: 1 });
      const other = GO_CONFIG.replace('"homesteadBlock":0', '"homesteadBlock":0,"berlinBlock":7');
      const go = await stage.go(...goArgs(node).map((arg) => (arg.startsWith("--config=") ? `--config=${other}` : arg)));
      await node.network.admin.addPeer(go.identity.enode);
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      assert.deepEqual(node.network.list(), []);
      assert.equal(await go.ask("peers"), null);
    },
  },
  ...(["v4", "v5"] as const).flatMap((protocol): InteropCase<Stage>[] => [
    {
      name: `disc${protocol}: our nodes find each other by a boot node of Geth's`,
      run: async (stage) => {
        const first = await stage.node({ key: 1, discovery: { enabled: false, bootnodes: [] } });
        const go = await stage.go(...goArgs(first, `--discovery=${protocol}`));
        const bootnodes = [protocol === "v4" ? go.identity.enode : go.identity.enr];
        const a = await stage.node({ key: 2, discovery: { enabled: true, bootnodes } });
        // Geth's table locks up when the first two nodes come at once (v1.16.9, p2p/discover/table.go): nodeAdded waits, with the table's
        // lock, for waitForNodes, which waits for the lock.
        const isOfFirst = (event: GoEvent): boolean => event.event === "connected" && event.peer === a.network.identity.nodeId;
        await go.event("a connection with the first", isOfFirst, DISCOVERY_LIMIT_MS);
        const b = await stage.node({ key: 3, discovery: { enabled: true, bootnodes } });
        const isPeer = (of: TestNode, { network }: TestNode): boolean =>
          of.network.list().some(({ id }) => id === network.identity.publicKey);
        await until("they found each other", () => isPeer(a, b) && isPeer(b, a), DISCOVERY_LIMIT_MS);
      },
    },
    {
      name: `disc${protocol}: Geth's node finds ours by a boot node of ours`,
      run: async (stage) => {
        const boot = await stage.node({ key: 1, maxPeers: 1, discovery: { enabled: true, bootnodes: [] } });
        const { enode, enr } = boot.network.identity;
        const found = await stage.node({ key: 2, maxPeers: 20, discovery: { enabled: true, bootnodes: [enode] } });
        const go = await stage.go(...goArgs(boot, `--discovery=${protocol}`, `--bootnodes=${protocol === "v4" ? enode : enr}`));
        await go.event(
          "a connection",
          (event) => event.event === "connected" && event.peer === found.network.identity.nodeId,
          DISCOVERY_LIMIT_MS,
        );
      },
    },
  ]),
];
