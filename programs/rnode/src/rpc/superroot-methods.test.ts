import { createRpcClient, createRpcServer } from "@rnode/jsonrpc";
import { EngineError, type L2Block } from "@rnode/node-clients";
import { silentLogger } from "@rnode/observe";
import { bytesToHex, CodedError, concatBytes, type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import type { BlockId, RollupConfig } from "@rnode/protocol";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { headsAfterReset } from "../common/heads.ts";
import { L1View } from "../derive/l1-view.ts";
import { attributesOn, FakeEngine, FakeL1, GENESIS_TIME_SEC, testConfig } from "../testing/fake-chain.ts";
import { outputOfBlock } from "./block-output.ts";
import { type SuperrootApi, superrootMethods } from "./superroot-methods.ts";
import { syncStatusToJson } from "./sync-status.ts";

const ZERO = `0x${"00".repeat(32)}`;
const OPTIONS = { fetchWithdrawalRootFromState: false };
const hex = (seconds: number | bigint): Hex => `0x${seconds.toString(16)}`;

/** A chain of ten blocks: 3 finalized, 5 safe. Block n is safe from L1 block n + 100 on. */
class Node implements SuperrootApi {
  readonly config: RollupConfig = testConfig();
  readonly engine = new FakeEngine(this.config);
  readonly l1 = new FakeL1(5);
  readonly blocks: L2Block[] = [this.engine.block(this.engine.head)];
  safe = 5;
  isEnabled = true;
  recorded: BlockId | "not-safe-yet" | "unknown" | undefined;
  fault: Error | undefined;
  onAsked = (): void => {};

  constructor() {
    for (let number = 1; number <= 10; number++) {
      const parent = this.blocks.at(-1)!;
      this.blocks.push(this.engine.make(parent.ref, attributesOn(this.config, parent.ref, this.l1.blocks[0]!)));
    }
    this.engine.head = this.blocks.at(-1)!.ref.hash;
  }

  readonly l2 = {
    blockByNumber: async (number: number): Promise<L2Block | undefined> => {
      if (this.fault !== undefined) throw this.fault;
      this.onAsked();
      return this.blocks[number];
    },
    messagePasserStorageRoot: async (): Promise<Uint8Array> => new Uint8Array(32).fill(9),
  };

  readonly safeHeads: SuperrootApi["safeHeads"] = Object.defineProperty(
    {
      isEnabled: true,
      firstWithSafe: (number: number) =>
        this.recorded ?? { hash: bytesToHex(new Uint8Array(32).fill(number)), number: number + 100 },
    },
    "isEnabled",
    { get: () => this.isEnabled },
  );

  syncStatus() {
    const [genesis, safe, finalized, unsafe] = [0, this.safe, Math.min(3, this.safe), 10].map((number) => this.blocks[number]!.ref);
    const heads = headsAfterReset({ unsafe: unsafe!, safe: safe!, finalized: finalized!, base: genesis! });
    return syncStatusToJson({ heads, l1: new L1View(), currentL1: this.l1.blocks[3], queuedUnsafe: undefined });
  }

  timeOf(number: number): number {
    return GENESIS_TIME_SEC + number * this.config.blockTimeSec;
  }
}

let node: Node;
let call: (...params: unknown[]) => Promise<unknown>;
beforeEach(async () => {
  node = new Node();
  const server = createRpcServer({
    http: { host: "127.0.0.1", port: 0 },
    methods: superrootMethods(OPTIONS, node),
    log: silentLogger,
  });
  const { httpPort } = await server.listen();
  const rpc = createRpcClient({ url: `http://127.0.0.1:${httpPort}` });
  call = (...params) => rpc.call("superroot_atTimestamp", params);
  onTestFinished(async () => {
    await rpc.close();
    await server.close();
  });
});

const withoutData = () => ({
  current_l1: { hash: node.l1.blocks[3]!.hash, number: 3 },
  safe_timestamp: node.timeOf(5),
  local_safe_timestamp: node.timeOf(5),
  finalized_timestamp: node.timeOf(3),
  optimistic_at_timestamp: {},
  chain_ids: ["901"],
});

async function answerFor(number: number, timestamp: number, requiredL1: object): Promise<object> {
  const block = node.blocks[number]!;
  const { outputRoot, storageRoot } = await outputOfBlock(OPTIONS, node, block);
  const output = {
    stateRoot: bytesToHex(block.header.stateRoot),
    messagePasserStorageRoot: bytesToHex(storageRoot),
    blockHash: block.ref.hash,
  };
  const root = bytesToHex(outputRoot);
  const time = timestamp.toString(16).padStart(16, "0");
  const superRoot = keccak256(concatBytes(hexToBytes(`01${time}${(901).toString(16).padStart(64, "0")}`), outputRoot));
  return {
    ...withoutData(),
    optimistic_at_timestamp: { 901: { output, output_root: root, required_l1: requiredL1 } },
    data: {
      verified_required_l1: requiredL1,
      super: { timestamp: hex(timestamp), chains: [{ ChainID: "901", Output: root }] },
      super_root: bytesToHex(superRoot),
    },
  };
}

describe("superroot_atTimestamp", () => {
  it("commits to the newest block of that time, with the L1 block that made it safe", async () => {
    expect(node.config.l2ChainId).toBe(901n);
    for (const number of [1, 3, 4, 5]) {
      const requiredL1 = node.safeHeads.firstWithSafe(number) as BlockId;
      for (const late of [0, node.config.blockTimeSec - 1]) {
        const timestamp = node.timeOf(number) + late;
        expect(await call(hex(timestamp))).toEqual(await answerFor(number, timestamp, requiredL1));
      }
    }
  });

  it("needs no L1 block and no database for the genesis", async () => {
    node.isEnabled = false;
    expect(await call(hex(node.timeOf(0)))).toEqual(await answerFor(0, node.timeOf(0), { hash: ZERO, number: 0 }));
  });

  it("leaves the chain and the data out at a time that is not safe, or has no block yet", async () => {
    const times = [node.timeOf(6), node.timeOf(10), node.timeOf(11), 2 ** 53, 2n ** 64n - 1n];
    for (const time of times) expect(await call(hex(time))).toEqual(withoutData());
    node.blocks.length = 5; // the engine has lost it
    node.syncStatus = () => new Node().syncStatus();
    expect(await call(hex(node.timeOf(5)))).toEqual(withoutData());
  });

  it("leaves the block out that stopped being safe while the engine was asked", async () => {
    node.onAsked = () => {
      node.safe = 4;
    };
    expect(await call(hex(node.timeOf(5)))).toEqual(withoutData());
    expect(await call(hex(node.timeOf(4)))).toMatchObject({ data: { super: { timestamp: hex(node.timeOf(4)) } } });
  });

  it.each<[string, () => void, (ref: string) => string]>([
    [
      "without a safe-head database",
      () => (node.isEnabled = false),
      (ref) => `l1AtSafeHead@${ref}: safe head database not enabled`,
    ],
    ["without a record yet", () => (node.recorded = "not-safe-yet"), (ref) => `l1AtSafeHead@${ref}: l1 at safe head not found`],
    [
      "for a block older than the record",
      () => (node.recorded = "unknown"),
      (ref) => `l1AtSafeHead@${ref}: l1 at safe head history unavailable`,
    ],
    [
      "for a damaged record",
      () => {
        node.safeHeads.firstWithSafe = () => {
          throw new CodedError("safe-heads/invalid-db-entry", { row: "0x00" });
        };
      },
      (ref) => `l1AtSafeHead@${ref}: invalid db entry`,
    ],
    [
      "without the engine",
      () => (node.fault = new EngineError("engine/unavailable", { method: "eth_getBlockByNumber", reason: "away" })),
      () => "blockRefWithStatus@4: ",
    ],
  ])("fails as op-node does %s", async (_, change, message) => {
    change();
    const { hash, number } = node.blocks[4]!.ref;
    await expect(call(hex(node.timeOf(4)))).rejects.toMatchObject({
      code: -32000,
      message: expect.stringContaining(message(`${hash}:${number}`)),
    });
  });

  it("fails for a time before the genesis", async () => {
    await expect(call(hex(GENESIS_TIME_SEC - 1))).rejects.toMatchObject({
      code: -32000,
      message: `target block number for timestamp ${GENESIS_TIME_SEC - 1}: did not reach genesis time (${GENESIS_TIME_SEC}) yet`,
    });
  });

  it.each([[], [1], ["1"], [null], ["0x1ffffffffffffffff"], ["0x"]])("refuses the parameters %j", async (...params) => {
    await expect(call(...params)).rejects.toMatchObject({ code: -32602 });
  });
});
