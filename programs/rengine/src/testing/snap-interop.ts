import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, encodeRlp, type Hex, hexToBytes, keccak256, rlpUint, toQuantity, uint64ToBytes } from "@rnode/primitives";
import { type InteropCase, runCases, until } from "@rnode/program/testing";
import { encodeTransaction } from "@rnode/protocol";
import { importState } from "../commands/import-state.ts";
import { attributesJson, WRITER_GENESIS } from "./generated-blocks.ts";
import { type OpGeth, opGethGenesis, startOpGeth } from "./op-geth.ts";
import { type BuiltPayloadJson, startTestClient, type TestClient } from "./test-client.ts";

/** The resources of a case, which are closed after it. */
interface Stage {
  /** a rengine with this number of blocks */
  readonly rengine: (blocks: number) => Promise<Chain>;
  /** an op-geth that syncs the state. @param name of its folder: the same one starts again */
  readonly opGeth: (name: string, chain: Chain) => Promise<OpGeth>;
}

/** A chain of a rengine that a test extends. */
interface Chain {
  readonly node: TestClient;
  readonly head: BuiltPayloadJson;
  readonly enode: string;
  extend(blocks: number): Promise<void>;
}

const ACCOUNTS = 20_000;
const SLOTS = 30_000;
const SMALL_CONTRACTS = 300;
const CHOICE_INTERVAL_MS = 2_000;
const CREATOR: Hex = `0x${"c1".repeat(20)}`;
const ZERO: Hex = `0x${"00".repeat(32)}`;
/** has more slots than an answer */
const LARGE: Hex = `0x${"1a".repeat(20)}`;

const hash = (kind: number, index: number): Hex => bytesToHex(keccak256(uint64ToBytes(kind * 2 ** 32 + index)));
const address = (kind: number, index: number): Hex => `0x${hash(kind, index).slice(26)}`;
const storage = (kind: number, count: number): Record<Hex, Hex> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [hash(kind, i), hash(kind + 1, i)]));

/** The state of the first block: plain accounts, contracts with their own code and a few slots, and a large contract. */
const ALLOC: Readonly<Record<Hex, object>> = {
  ...WRITER_GENESIS.alloc,
  ...Object.fromEntries(Array.from({ length: ACCOUNTS }, (_, i) => [address(1, i), { balance: toQuantity(1n + BigInt(i)) }])),
  ...Object.fromEntries(
    Array.from({ length: SMALL_CONTRACTS }, (_, i) => [
      address(2, i),
      {
        nonce: "0x1",
        balance: "0x0",
        code: `0x60${(i & 0xff).toString(16).padStart(2, "0")}50${"00".repeat(1 + i)}`,
        storage: storage(10 + 2 * i, i % 7),
      },
    ]),
  ),
  [LARGE]: { nonce: "0x1", balance: "0x0", code: "0x6000", storage: storage(3, SLOTS) },
};
const GENESIS = { ...WRITER_GENESIS, alloc: ALLOC };

/** A deposit that creates a contract with a slot and a code of its own, which is in no genesis. */
function creation(seed: number): Hex {
  const code = `60${(seed & 0xff).toString(16).padStart(2, "0")}61${seed.toString(16).padStart(4, "0")}`;
  // slot[1] = seed; the code is the word on the stack, shifted to its left end
  const initCode = `61${seed.toString(16).padStart(4, "0")}60015564${code}60d81b60005260056000f3`;
  return bytesToHex(
    encodeTransaction({
      type: 0x7e,
      sourceHash: hexToBytes(hash(7, seed)),
      from: hexToBytes(CREATOR),
      to: undefined,
      mint: 0n,
      value: 0n,
      gasLimit: 200_000n,
      isSystemTx: false,
      data: hexToBytes(`0x${initCode}`),
    }),
  );
}

/** @param seed the n-th creation: its nonce is one less */
const created = (seed: number): Hex => bytesToHex(keccak256(encodeRlp([hexToBytes(CREATOR), rlpUint(seed - 1)])).subarray(12));

/** Each case has its own nodes. @returns numbers of passed and failed cases */
export function runInterop(binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> {
  return runCases(CASES, (onClose) => stageOf(binary, onClose), print);
}

function stageOf(binary: string, onClose: (close: () => Promise<unknown>) => void): Stage {
  const folder = mkdtempSync(join(tmpdir(), "snap-interop-"));
  onClose(async () => rmSync(folder, { recursive: true, force: true }));
  return {
    rengine: async (blocks) => {
      const chain = await startChain();
      onClose(() => chain.node.remove());
      await chain.extend(blocks);
      return chain;
    },
    opGeth: async (name, { enode }) => {
      const geth = await startOpGeth(binary, join(folder, name), opGethGenesis(GENESIS), ["--syncmode", "snap"]);
      onClose(() => geth.stop());
      assert.equal(await geth.rpc.call("admin_addPeer", [enode]), true);
      return geth;
    },
  };
}

async function startChain(): Promise<Chain> {
  const args = ["--addr=127.0.0.1", "--port=0", "--disable-discovery", "--max-peers=10", "--nat=none", "--http.api=eth,admin"];
  const node = await startTestClient(args, undefined, { alloc: ALLOC });
  let head: BuiltPayloadJson | undefined;
  let seed = 0;
  const { enode } = await until("it has joined the network", async () => {
    const info = await node.rpc.call<{ enode: string; ports: { listener: number } }>("admin_nodeInfo");
    return info.ports.listener > 0 && info;
  });
  return {
    node,
    enode,
    get head() {
      return head!;
    },
    async extend(blocks) {
      for (let i = 0; i < blocks; i++) {
        const [, ...transactions] = attributesJson(++seed, 0).transactions as Hex[];
        head = (await node.buildBlock({ noTxPool: true, transactions: [...transactions, creation(seed)] })).payload;
      }
    },
  };
}

/** Names the chain's head until op-geth has it. */
async function followed(geth: OpGeth, { head }: Chain): Promise<void> {
  const { blockHash } = head.executionPayload;
  const state = { headBlockHash: blockHash, safeBlockHash: ZERO, finalizedBlockHash: ZERO };
  await geth.engine.call("engine_newPayloadV4", [head.executionPayload, [], ZERO, []]);
  let chosenMs = 0;
  await until(`op-geth has block ${Number(head.executionPayload.blockNumber)}`, async () => {
    if (performance.now() - chosenMs > CHOICE_INTERVAL_MS) {
      await geth.engine.call("engine_forkchoiceUpdatedV3", [state, null]);
      chosenMs = performance.now();
    }
    return (await geth.rpc.call<{ hash: Hex }>("eth_getBlockByNumber", ["latest", false])).hash === blockHash;
  });
}

/** Both have the same accounts, slots and codes after the head. */
async function compared(geth: OpGeth, { node, head }: Chain): Promise<void> {
  const accounts = [...Array.from({ length: 200 }, (_, i) => address(1, 97 * i)), ...Object.keys(WRITER_GENESIS.alloc)] as Hex[];
  const requests: [string, unknown[]][] = [
    ...accounts.map((who): [string, unknown[]] => ["eth_getProof", [who, [], "latest"]]),
    ...Array.from({ length: SMALL_CONTRACTS }, (_, i): [string, unknown[]] => ["eth_getCode", [address(2, i), "latest"]]),
    ...Array.from({ length: Number(head.executionPayload.blockNumber) }, (_, i): [string, unknown[]] => [
      "eth_getCode",
      [created(i + 1), "latest"],
    ]),
    ...Array.from({ length: 200 }, (_, i): [string, unknown[]] => ["eth_getStorageAt", [LARGE, hash(3, 149 * i), "latest"]]),
    ...Array.from({ length: SMALL_CONTRACTS }, (_, i): [string, unknown[]] => [
      "eth_getStorageAt",
      [address(2, i), hash(10 + 2 * i, 0), "latest"],
    ]),
  ];
  for (const [method, params] of requests) {
    assert.deepEqual(
      await geth.rpc.call(method, params),
      await node.rpc.call(method, params),
      `${method} ${JSON.stringify(params)}`,
    );
  }
}

/** The last progress of the download. */
const PHASES = /synced=100\.00% .*accounts=(\d+)@.* slots=(\d+)@.* codes=(\d+)@/;

const CASES: readonly InteropCase<Stage>[] = [
  {
    name: "snap/1: op-geth syncs the state of a chain from a rengine, and follows its next blocks",
    run: async (stage) => {
      const chain = await stage.rengine(200);
      const geth = await stage.opGeth("empty", chain);
      await followed(geth, chain);
      const [, accounts, slots, codes] = PHASES.exec(geth.log()) ?? [];
      assert.ok(Number(accounts) > ACCOUNTS && Number(slots) > SLOTS && Number(codes) > 100, geth.log());
      await compared(geth, chain);
      await chain.extend(3);
      await followed(geth, chain);
      await compared(geth, chain);
    },
  },
  {
    name: "snap/1: a rengine takes the state and the last blocks from op-geth",
    run: async (stage) => {
      const chain = await stage.rengine(200);
      const geth = await stage.opGeth("serves", chain);
      await followed(geth, chain);
      const { enode } = await geth.rpc.call<{ enode: string }>("admin_nodeInfo");
      const { blockHash, blockNumber } = chain.head.executionPayload;
      const folder = join(chain.node.folder, "taken");
      const args = [
        ...[`--chain=${join(chain.node.folder, "genesis.json")}`, `--datadir=${join(folder, "data")}`, "--json"],
        ...[`--from=${enode.replace(/@[^:]*:/, "@127.0.0.1:")}`, `--block-hash=${blockHash}`],
      ];
      const lines: string[] = [];
      const print = (line: string): void => void lines.push(line);
      assert.equal(await importState(args, {}, { out: print, err: print, progress: () => {} }), 0, lines.join("\n"));
      const { accounts, slots } = JSON.parse(lines.at(-1)!) as { accounts: number; slots: number };
      assert.ok(accounts > ACCOUNTS && slots > SLOTS, lines.at(-1));
      const node = await startTestClient([], folder, { alloc: ALLOC });
      try {
        assert.equal(await node.rpc.call("eth_blockNumber"), blockNumber);
        await compared(geth, { ...chain, head: chain.head, node });
      } finally {
        await node.close();
      }
    },
  },
  {
    name: "snap/1: op-geth heals a state of which it has parts from before, when that one is no longer served",
    run: async (stage) => {
      const chain = await stage.rengine(200);
      const first = await stage.opGeth("stopped", chain);
      void followed(first, chain).catch(() => {});
      await until("parts of the state", () => / accounts=[1-9]/.test(first.log()));
      await first.stop();
      assert.doesNotMatch(first.log(), /State healing phase is completed/);
      await chain.extend(150);
      const geth = await stage.opGeth("stopped", chain);
      await followed(geth, chain);
      assert.match(geth.log(), /state healing in progress.* nodes=[1-9]/);
      await compared(geth, chain);
    },
  },
];
