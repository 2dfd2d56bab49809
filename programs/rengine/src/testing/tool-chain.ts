import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "@rnode/primitives";
import type { L1BlockInfo } from "@rnode/protocol";
import { startTestClient, type TestClient } from "./test-client.ts";

/** Contracts that tools expect on an OP Stack chain. */
export interface ToolContracts {
  readonly contracts: Readonly<Record<string, { readonly runtimeCode: Hex }>>;
  readonly preinstalls: Readonly<Record<string, { readonly address: Hex; readonly code: Hex }>>;
}

/** A client whose chain has the predeploys that tools call, and which makes a block shortly after a transaction was sent. */
export interface ToolChain {
  readonly node: TestClient;
  /** no block is made automatically while it runs */
  withoutMining<T>(run: () => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

const TOOL_L1 = { operatorFeeScalar: 2_000_000, operatorFeeConstant: 7n } satisfies Partial<L1BlockInfo>;

const PREDEPLOYS: Readonly<Record<string, Hex>> = {
  WETH: "0x4200000000000000000000000000000000000006",
  GasPriceOracle: "0x420000000000000000000000000000000000000f",
  L1Block: "0x4200000000000000000000000000000000000015",
  L2ToL1MessagePasser: "0x4200000000000000000000000000000000000016",
};
const SLOT_0 = `0x${"00".repeat(32)}`;
/** isEcotone, isFjord, isIsthmus, isJovian */
const ORACLE_FLAGS = `0x${"01010101".padStart(64, "0")}`;
const POLL_MS = 20;
/** Blocks are also made without transactions: a tool that misses a block looks again at the next one. */
const BLOCK_INTERVAL_MS = 300;

/** @param bundle the devnet's contracts */
export async function startToolChain(extra: readonly string[], bundle: ToolContracts): Promise<ToolChain> {
  // A balance for the zero address, as on real chains: `viem` estimates withdrawals without specifying a sender.
  const alloc: Record<Hex, object> = { [`0x${"00".repeat(20)}`]: { balance: "0xde0b6b3a7640000" } };
  for (const [name, address] of Object.entries(PREDEPLOYS)) {
    const code = bundle.contracts[name]?.runtimeCode;
    if (code === undefined) throw new Error(`no contract ${name}`);
    alloc[address] = {
      nonce: "0x1",
      balance: "0x0",
      code,
      ...(name === "GasPriceOracle" && { storage: { [SLOT_0]: ORACLE_FLAGS } }),
    };
  }
  for (const { address, code } of Object.values(bundle.preinstalls)) alloc[address] = { nonce: "0x1", balance: "0x0", code };
  const node = await startTestClient(extra, undefined, { alloc, l1: TOOL_L1 });
  await node.buildBlock(); // L1Block has its values from this block on

  let isStopped = false;
  let held = 0;
  let failure: unknown;
  let lastMs = performance.now();
  const step = async (): Promise<void> => {
    const { pending } = await node.rpc.call<{ pending: Hex }>("txpool_status");
    if (held > 0 || (pending === "0x0" && performance.now() - lastMs < BLOCK_INTERVAL_MS)) return;
    await node.buildBlock();
    lastMs = performance.now();
  };
  let current = Promise.resolve();
  const mine = async (): Promise<void> => {
    while (!isStopped) {
      current = step();
      await current;
      await sleep(POLL_MS);
    }
  };
  const mining = mine().catch((error: unknown) => {
    failure = error;
  });
  return {
    node,
    async withoutMining(run) {
      held++;
      try {
        await current;
        return await run();
      } finally {
        held--;
      }
    },
    async stop() {
      isStopped = true;
      await mining;
      await node.remove();
      if (failure !== undefined) throw failure;
    },
  };
}
