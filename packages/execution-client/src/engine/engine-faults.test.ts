import { JOVIAN_CONFIG, l1Info } from "@rnode/eth-api/testing";
import { RpcError } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import { encodeTransaction, PREDEPLOYS } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GENESIS_TIME_SEC, startTestClient, type TestClient } from "../testing/test-client.ts";

const ZERO: Hex = `0x${"00".repeat(32)}`;
/** The first block after the genesis activates Canyon. */
const { chainId, bedrockBlock, regolithTime, optimism } = JOVIAN_CONFIG;
const CONFIG = { chainId, bedrockBlock, regolithTime, canyonTime: GENESIS_TIME_SEC + 1, optimism };

describe.each(["R", "G"] as const)("face %s", (profile) => {
  let node: TestClient;
  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`], undefined, { config: CONFIG });
  });
  afterAll(() => node.remove());

  it("is asked about blocks with more transactions than a public request may have values", async () => {
    const transactions = Array.from({ length: 150_000 }, () => "0x02");
    const failure = await node.engine.call("engine_newPayloadV2", [{ transactions }]).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: -32602 }); // it was read: the payload's other fields are missing
  });

  it("tells the rollup node what the operator can mend", async () => {
    const { hash } = await node.engine.call<{ hash: Hex }>("eth_getBlockByNumber", ["latest", false]);
    const attributes = {
      timestamp: toQuantity(GENESIS_TIME_SEC + 2),
      prevRandao: ZERO,
      suggestedFeeRecipient: bytesToHex(PREDEPLOYS.sequencerFeeVault),
      withdrawals: [],
      transactions: [bytesToHex(encodeTransaction(l1Info("bedrock")))],
      noTxPool: true,
      gasLimit: toQuantity(30_000_000n),
    };
    const state = { headBlockHash: hash, safeBlockHash: ZERO, finalizedBlockHash: ZERO };
    const failure = await node.engine.call("engine_forkchoiceUpdatedV2", [state, attributes]).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RpcError);
    expect(failure).toMatchObject({ code: -32603 });
    expect((failure as RpcError).message).toMatch(/--rollup\.upgrades-dir/);
  });
});
