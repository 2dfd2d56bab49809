import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { initGenesis, openChain } from "@rnode/chain";
import { bytesToHex, type Hex, ZERO_HASH } from "@rnode/primitives";
import { decodeBlockPrefix } from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { genesisOfSpec, loadChainSpec } from "../setup/chain-spec.ts";
import { databasePath } from "../setup/database.ts";
import { clientsOfTest } from "../testing/clients-of-test.ts";
import { generateBlocks, WRITER_GENESIS } from "../testing/generated-blocks.ts";
import type { TestClient } from "../testing/test-client.ts";

// Three clients on loopback: the third has nothing but the genesis, and is told a head.

const COUNT = 64;
const ON = ["--max-peers=5", "--addr=127.0.0.1", "--port=0", "--nat=none", "--disable-discovery", "--http.api=eth,net,admin"];
const { start } = clientsOfTest();
const folder = mkdtempSync(join(tmpdir(), "rnode-sync-e2e-"));
let rlp: Uint8Array;
let hashes: Hex[];

beforeAll(async () => {
  const genesis = join(folder, "genesis.json");
  writeFileSync(genesis, JSON.stringify(WRITER_GENESIS));
  ({ rlp, hashes } = await generateBlocks(genesis, join(folder, "made"), COUNT));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function* blocks() {
  for (let at = 0; at < rlp.length; ) {
    const { block, end } = decodeBlockPrefix(rlp, at);
    yield { block };
    at = end;
  }
}

/** A client that has the chain. @param lies its database has the transactions of every fifth block in another order */
async function full(name: string, lies = false): Promise<TestClient> {
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
  expect(await chain.import(blocks(), { groupBlocks: 32 })).toBeUndefined();
  await chain.close();
  return start(ON, home, { alloc: WRITER_GENESIS.alloc });
}

const enodeOf = async ({ rpc }: TestClient): Promise<string> => (await rpc.call<{ enode: string }>("admin_nodeInfo", [])).enode;
const ZERO = bytesToHex(ZERO_HASH);

describe("a sync over sockets", { timeout: 60_000 }, () => {
  it("comes from two peers, one of which lies and is thrown out", async () => {
    const honest = await full("honest");
    const liar = await full("liar", true);
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
    await expect
      .poll(async () => Number(await client.rpc.call("eth_blockNumber", [])), { timeout: 40_000, interval: 50 })
      .toBe(COUNT);
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
});
