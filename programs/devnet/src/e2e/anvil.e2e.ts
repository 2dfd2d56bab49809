// @module-tag long
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import { rpcCall } from "../rpc.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

const datadir = mkdtempSync(join(tmpdir(), "devnet-anvil-"));
const scope = new Scope({ log: silentLogger, clock: systemClock });
let devnet: Devnet;

beforeAll(async () => {
  devnet = await startDevnet(scope, { datadir, basePort: 0, l1: "anvil", parameters: { l1BlockTimeSec: 2, l2BlockTimeSec: 1 } });
});
afterAll(async () => {
  await scope.close();
});

it("runs over anvil: the verifier derives the sequencer's blocks from it", async () => {
  expect(await rpcCall<string>(devnet.info.endpoints.l1, "web3_clientVersion")).toMatch(/^anvil\//);
  const view = new ChainView(devnet);
  const safe = await waitFor("a safe block on the verifier", 60_000, async () => {
    const { safe_l2 } = await view.syncStatus("verifier");
    return safe_l2.number > 0 ? safe_l2 : undefined;
  });
  const block = await view.engine<{ hash: Hex }>("sequencer", "eth_getBlockByNumber", [`0x${safe.number.toString(16)}`, false]);
  expect(block.hash).toBe(safe.hash);
});
