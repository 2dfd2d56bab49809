import { spawn } from "node:child_process";
import { anvilBinary, rpcCall } from "@rnode/devnet";
import { type Hex, toQuantity } from "@rnode/primitives";
import { freePort } from "@rnode/program/testing";
import { forkchoiceState, newPayloadParams, type OpChain, RICH_WEI, sequencerAttributes } from "../common/op-chain.ts";
import { answers, type EngineConnection, type RengineOptions, startRengine, stopper } from "../common/rengine.ts";

/** A measured client, with its own chain. */
export interface RpcTarget {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  /** Puts the transactions that wait in the pool into a block. */
  mine(): Promise<void>;
  stop(): Promise<void>;
}

export async function startAnvilTarget({ chainId, gasLimit, timestampSec, rich }: OpChain): Promise<RpcTarget> {
  const port = await freePort();
  const limits = ["--gas-limit", String(gasLimit), "--timestamp", String(timestampSec), "--chain-id", String(chainId)];
  const args = ["--port", String(port), "--silent", "--no-mining", "--accounts", "1", "--order", "fifo", ...limits];
  const child = spawn(anvilBinary(), args, { stdio: "ignore" });
  const url = `http://127.0.0.1:${port}`;
  const stop = stopper(child);
  try {
    await answers(url, child);
    for (const address of rich) await rpcCall(url, "anvil_setBalance", [address, toQuantity(RICH_WEI)]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { name: "anvil", pid: child.pid!, port, url, mine: async () => void (await rpcCall(url, "evm_mine")), stop };
}

export async function startRengineTarget(chain: OpChain, options: Omit<RengineOptions, "chain"> = {}): Promise<RpcTarget> {
  const program = await startRengine({ ...options, chain });
  const { pid, port, url, engine } = program;
  return { name: "rengine", pid, port, url, mine: () => mineBlock(engine, chain.gasLimit), stop: () => program.stop() };
}

/** Acts as the rollup node: attributes, payload, new payload, fork choice. */
async function mineBlock(engine: EngineConnection, gasLimit: bigint): Promise<void> {
  const head = await engine.call<{ hash: Hex; number: Hex; timestamp: Hex }>("eth_getBlockByNumber", ["latest", false]);
  const attributes = sequencerAttributes({ number: Number(head.number), timestampSec: Number(head.timestamp) }, gasLimit);
  const { payloadId } = await engine.call<{ payloadId: Hex }>("engine_forkchoiceUpdatedV3", [
    forkchoiceState(head.hash),
    attributes,
  ]);
  await new Promise((resolve) => setTimeout(resolve, 300)); // meanwhile the builder fills the block
  const { executionPayload } = await engine.call<{ executionPayload: { blockHash: Hex } }>("engine_getPayloadV4", [payloadId]);
  await engine.call("engine_newPayloadV4", newPayloadParams(executionPayload));
  await engine.call("engine_forkchoiceUpdatedV3", [forkchoiceState(executionPayload.blockHash), null]);
}
