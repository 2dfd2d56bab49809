import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { createPublicClient, createWalletClient, type Hex, http, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import { rpcCall } from "../rpc.ts";
import { l2ViemChain } from "../viem-chains.ts";

describe("subblocks of a devnet", () => {
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  let devnet: Devnet;

  beforeAll(async () => {
    const datadir = mkdtempSync(join(tmpdir(), "rnode-subblocks-e2e-"));
    devnet = await startDevnet(scope, { datadir, basePort: 0, nodes: 3, subblocks: true, dashboard: false });
  }, 120_000);
  afterAll(() => scope.close());

  it("show a receipt at the follower before the block", { timeout: 120_000 }, async () => {
    const { endpoints, accounts } = devnet.info;
    const follower = endpoints.follower!.http;
    const chain = l2ViemChain(devnet.info);
    const account = privateKeyToAccount(accounts[5]!.privateKey);
    const wallet = createWalletClient({ account, chain, transport: http(endpoints.sequencer.http) });
    const reader = createPublicClient({ chain, transport: http(follower), pollingInterval: 10 });
    const to: Hex = `0x${"5b".repeat(20)}`;
    // A part may come with the block itself, so that one transaction proves nothing.
    for (let sent = 1; ; sent++) {
      const hash = await wallet.sendTransaction({ to, value: parseEther("1") });
      const receipt = await reader.waitForTransactionReceipt({ hash });
      const head = Number(await rpcCall<Hex>(follower, "eth_blockNumber"));
      const pending = await reader.getBalance({ address: to, blockTag: "pending" });
      expect(receipt.status).toBe("success");
      expect(pending).toBe(parseEther(String(sent)));
      if (head < Number(receipt.blockNumber)) break;
    }
  });
});
