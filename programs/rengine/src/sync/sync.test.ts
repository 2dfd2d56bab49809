import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { initGenesis, openChain } from "@rnode/chain";
import { parseEnode } from "@rnode/devp2p";
import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes, toQuantity, ZERO_HASH } from "@rnode/primitives";
import { decodeBlockPrefix } from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { genesisOfSpec, loadChainSpec } from "../setup/chain-spec.ts";
import { databasePath } from "../setup/database.ts";
import { buildPackage, PROGRAM } from "../testing/built-package.ts";
import { clientsOfTest } from "../testing/clients-of-test.ts";
import { GatedLink } from "../testing/gated-link.ts";
import { generateBlocks, WRITER_GENESIS } from "../testing/generated-blocks.ts";
import { KillableClient } from "../testing/kill-process.ts";
import type { TestClient } from "../testing/test-client.ts";

// Clients on loopback: the last one has nothing but the genesis, and is told a head.

const COUNT = 64;
/** of the chain during whose sync a process is killed */
const LONG_COUNT = 320;
/** Blocks are committed 32 at a time while the next ones are executed, and an answer has up to 64: so many have to be on their way. */
const UNDER_WAY = 128;
const ON = ["--max-peers=5", "--addr=127.0.0.1", "--port=0", "--nat=none", "--disable-discovery", "--http.api=eth,net,admin"];
const { start } = clientsOfTest();
const folder = mkdtempSync(join(tmpdir(), "rnode-sync-e2e-"));
let rlp: Uint8Array;
let hashes: Hex[];

beforeAll(async () => {
  const genesis = join(folder, "genesis.json");
  writeFileSync(genesis, JSON.stringify(WRITER_GENESIS));
  ({ rlp, hashes } = await generateBlocks(genesis, join(folder, "made"), LONG_COUNT));
});
const processes: KillableClient[] = [];
afterEach(async () => {
  for (const client of processes.splice(0)) await client.killAfter(0);
});

function* blocks(count: number) {
  for (let at = 0, number = 1; number <= count; number++) {
    const { block, end } = decodeBlockPrefix(rlp, at);
    yield { block };
    at = end;
  }
}

/** A client that has the chain. @param lies its database has the transactions of every fifth block in another order */
async function full(name: string, { lies = false, count = COUNT } = {}): Promise<TestClient> {
  const home = join(folder, name);
  const path = databasePath(join(home, "data"));
  mkdirSync(path, { recursive: true });
  const spec = await loadChainSpec({ chain: join(folder, "genesis.json") });
  const store = openChainStore(path, { sync: "interval" });
  initGenesis(store, await genesisOfSpec(spec));
  if (lies) {
    const newGroup = store.newGroup.bind(store);
    store.newGroup = () => {
      const group = newGroup();
      const add = group.add.bind(group);
      group.add = (body) => {
        if (body.block.header.number % 5 !== 0) return add(body);
        const { block, encodedTransactions, transactionHashes, senders } = body;
        return add({
          ...body,
          block: { ...block, transactions: block.transactions.toReversed() },
          encodedTransactions: encodedTransactions!.toReversed(),
          transactionHashes: transactionHashes!.toReversed(),
          senders: senders.toReversed(),
        });
      };
      return group;
    };
  }
  const chain = openChain({ store, config: spec.config, nowMs: () => 0 });
  expect(await chain.import(blocks(count), { groupBlocks: 32 })).toBeUndefined();
  await chain.close();
  return start(ON, home, { alloc: WRITER_GENESIS.alloc });
}

const enodeOf = async ({ rpc }: TestClient): Promise<string> => (await rpc.call<{ enode: string }>("admin_nodeInfo", [])).enode;
const ZERO = bytesToHex(ZERO_HASH);

interface Syncing {
  readonly client: KillableClient;
  readonly engine: RpcClient;
  readonly head: () => Promise<number>;
}

/** A process of its own, whose database is that of the one before, and which is told the head. */
async function startSyncing(home: string, peer: string): Promise<Syncing> {
  const datadir = join(home, "data");
  const client = new KillableClient(PROGRAM, [
    ...[`--chain=${join(folder, "genesis.json")}`, `--datadir=${datadir}`, "--authrpc.port=0", "--max-peers=5"],
    ...["--addr=127.0.0.1", "--port=0", "--nat=none", "--disable-discovery", `--trusted-peers=${peer}`],
  ]);
  processes.push(client);
  const port = await client.enginePort();
  if (port === undefined) throw new Error(client.log);
  const jwtSecret = hexToBytes(readFileSync(join(datadir, "jwt.hex"), "utf8").trim());
  const engine = createRpcClient({ url: `http://127.0.0.1:${port}`, jwtSecret, timeoutMs: 60_000 });
  const state = { headBlockHash: hashes[LONG_COUNT], safeBlockHash: ZERO, finalizedBlockHash: ZERO };
  await engine.call("engine_forkchoiceUpdatedV3", [state, null]);
  return { client, engine, head: async () => Number(await engine.call("eth_blockNumber", [])) };
}

/** The head that a kill has left behind, of a database in which everything fits. */
async function storedHead(home: string): Promise<number> {
  const store = openChainStore(databasePath(join(home, "data")));
  try {
    const head = store.head()!;
    expect([head.hash, store.verifyState().problems]).toEqual([hashes[head.number], []]);
    return head.number;
  } finally {
    await store.close();
  }
}

describe("a sync over sockets", () => {
  it("comes from two peers, one of which lies and is thrown out", async () => {
    const honest = await full("honest");
    const liar = await full("liar", { lies: true });
    const peers = await Promise.all([honest, liar].map(enodeOf));
    const home = join(folder, "new");
    mkdirSync(home);
    const client = await start([...ON, `--trusted-peers=${peers.join(",")}`], home, { alloc: WRITER_GENESIS.alloc });
    const choose = async (head: Hex): Promise<string> => {
      const state = { headBlockHash: head, safeBlockHash: hashes[COUNT - 5]!, finalizedBlockHash: hashes[COUNT - 9]! };
      const { payloadStatus } = await client.engine.call<{ payloadStatus: { status: string } }>("engine_forkchoiceUpdatedV3", [
        state,
        null,
      ]);
      return payloadStatus.status;
    };
    expect(await choose(hashes[COUNT]!)).toBe("SYNCING");
    expect(await client.rpc.call("eth_syncing", [])).toMatchObject({ startingBlock: "0x0", currentBlock: "0x0" });
    await expect.poll(async () => Number(await client.rpc.call("eth_blockNumber", [])), { interval: 50 }).toBe(COUNT);
    await expect.poll(() => choose(hashes[COUNT]!)).toBe("VALID");
    expect(await client.rpc.call("eth_getBlockByNumber", ["latest", false])).toMatchObject({ hash: hashes[COUNT] });
    expect(await client.rpc.call("eth_getBlockByNumber", ["finalized", false])).toMatchObject({ hash: hashes[COUNT - 9] });
    // Nothing of what the liar said is there.
    const block = (of: TestClient): Promise<unknown> => of.rpc.call("eth_getBlockByNumber", ["0x5", true]);
    expect(await block(client)).toEqual(await block(honest));
    expect(await block(liar)).not.toEqual(await block(honest));
    expect(
      await client.engine.call("engine_forkchoiceUpdatedV3", [
        { headBlockHash: hashes[COUNT - 2], safeBlockHash: ZERO, finalizedBlockHash: ZERO },
        null,
      ]),
    ).toMatchObject({ payloadStatus: { status: "VALID" } });
  });

  it("goes on where it was after kill -9, three times on its way", { tags: "long" }, async () => {
    buildPackage();
    const { id, tcpPort } = parseEnode(await enodeOf(await full("serves", { count: LONG_COUNT })));
    const link = await GatedLink.to(tcpPort);
    const peer = `enode://${id}@127.0.0.1:${link.port}`;
    const home = join(folder, "killed");
    mkdirSync(home);
    const blockBytes = Math.ceil(rlp.length / LONG_COUNT);
    try {
      let stored = 0;
      /** Kills the process as soon as its head is above this block. */
      const killAbove = async (number: number): Promise<void> => {
        const { client, engine, head } = await startSyncing(home, peer);
        expect(await engine.call("eth_syncing", [])).toMatchObject({ startingBlock: toQuantity(stored) });
        // So slowly that a request, which is for what a peer gives in a second, is for few blocks; and never so many that none is missing.
        const passedBefore = link.passed;
        for (let at = stored; at <= number; at = await head()) {
          const isEnough = link.passed - passedBefore > (at - stored + UNDER_WAY) * blockBytes;
          if (link.isHolding && !isEnough) link.allow(2 * blockBytes);
          await new Promise((resolve) => setTimeout(resolve, 40));
        }
        expect(await client.killAfter(0)).toBe(true);
        await engine.close();
        const found = await storedHead(home);
        expect(found).toBeGreaterThan(number);
        heads.push(found);
        stored = found;
      };
      const heads: number[] = [];
      for (const number of [LONG_COUNT / 4, LONG_COUNT / 2]) await killAbove(number);
      expect(heads[1]).toBeLessThan(LONG_COUNT);
      await killAbove(Math.max(stored, LONG_COUNT - 2 * 32)); // among the last ones, or when they have just been stored
      const { client, engine, head } = await startSyncing(home, peer);
      link.allow(Number.MAX_SAFE_INTEGER);
      await expect.poll(head, { interval: 50 }).toBe(LONG_COUNT);
      await client.killAfter(0);
      await engine.close();
      expect(await storedHead(home)).toBe(LONG_COUNT);
      // What was there before a kill was not fetched again, only what was on its way.
      expect(link.passed).toBeLessThan(2 * rlp.length);
    } finally {
      await link.close();
    }
  });
});
