// @module-tag long
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { createPublicClient, createWalletClient, http, parseAbi, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { getL2TransactionHashes, publicActionsL1, publicActionsL2, walletActionsL1, walletActionsL2 } from "viem/op-stack";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import { l1ViemChain, l2ViemChain } from "../viem-chains.ts";
import { waitFor } from "./wait.ts";

/**
 * The deposit and withdrawal guides of viem's op-stack pages (https://viem.sh/op-stack/guides/deposits, …/withdrawals), with their code as
 * it stands there: nothing but the chains, the account and the polling interval is ours.
 */
describe("the guides of viem's op-stack pages", () => {
  const datadir = mkdtempSync(join(tmpdir(), "rnode-viem-pages-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  let devnet: Devnet;

  beforeAll(async () => {
    devnet = await startDevnet(scope, {
      datadir,
      basePort: 0,
      nodes: 1,
      parameters: { l1BlockTimeSec: 1, l2BlockTimeSec: 1, proofs: "oracle", finalizationPeriodSec: 6, outputIntervalBlocks: 5 },
      changeArgs: (program, args) =>
        program === "proposer" ? args.map((arg) => arg.replace("--proposal-interval=20s", "--proposal-interval=5s")) : args,
    });
  });
  afterAll(async () => {
    await scope.close();
  });

  const clients = () => {
    const account = privateKeyToAccount(devnet.info.accounts[6]!.privateKey);
    const [mainnet, optimism] = [l1ViemChain(devnet.info), l2ViemChain(devnet.info)];
    const pollingInterval = 250;
    const publicClientL1 = createPublicClient({ chain: mainnet, transport: http(), pollingInterval }).extend(publicActionsL1());
    const walletClientL1 = createWalletClient({ account, chain: mainnet, transport: http() }).extend(walletActionsL1());
    const publicClientL2 = createPublicClient({ chain: optimism, transport: http(), pollingInterval }).extend(publicActionsL2());
    const walletClientL2 = createWalletClient({ account, chain: optimism, transport: http() }).extend(walletActionsL2());
    return { account, publicClientL1, publicClientL2, walletClientL1, walletClientL2 };
  };

  it("deposits", async () => {
    const { account, publicClientL1, publicClientL2, walletClientL1 } = clients();
    const before = await publicClientL2.getBalance({ address: account.address });
    // Build parameters for the transaction on the L2.
    const args = await publicClientL2.buildDepositTransaction({ mint: parseEther("1"), to: account.address });
    // Execute the deposit transaction on the L1.
    const hash = await walletClientL1.depositTransaction(args);
    // Wait for the L1 transaction to be processed.
    const receipt = await publicClientL1.waitForTransactionReceipt({ hash });
    // Get the L2 transaction hash from the L1 transaction receipt.
    const [l2Hash] = getL2TransactionHashes(receipt);
    // Wait for the L2 transaction to be processed.
    const l2Receipt = await publicClientL2.waitForTransactionReceipt({ hash: l2Hash! });
    expect([receipt.status, l2Receipt.status]).toEqual(["success", "success"]);
    expect(await publicClientL2.getBalance({ address: account.address })).toBe(before + parseEther("1"));
  });

  it("withdraws", async () => {
    const { account, publicClientL1, publicClientL2, walletClientL1, walletClientL2 } = clients();
    // On a chain without any output, waitToProve of the pages fails instead of waiting.
    const outputs = {
      address: devnet.info.contracts.l1.L2OutputOracle as `0x${string}`,
      abi: parseAbi(["function latestOutputIndex() view returns (uint256)"]),
      functionName: "latestOutputIndex",
    } as const;
    await waitFor("the first output", 60_000, () => publicClientL1.readContract(outputs).catch(() => undefined));
    // Build parameters to initiate the withdrawal transaction on the L1.
    const args = await publicClientL1.buildInitiateWithdrawal({
      account,
      // Not the address of the pages: it is the proposer's, who pays for outputs meanwhile.
      to: devnet.info.accounts[9]!.address,
      value: parseEther("1"),
    });
    // Execute the initiate withdrawal transaction on the L2.
    const hash = await walletClientL2.initiateWithdrawal(args);
    // Wait for the initiate withdrawal transaction receipt.
    const receipt = await publicClientL2.waitForTransactionReceipt({ hash });
    // Wait until the withdrawal is ready to prove.
    const { output, withdrawal } = await publicClientL1.waitToProve({ receipt, targetChain: walletClientL2.chain });
    // Build parameters to prove the withdrawal on the L2.
    const proveArgs = await publicClientL2.buildProveWithdrawal({ account, output, withdrawal });
    // Prove the withdrawal on the L1.
    const proveHash = await walletClientL1.proveWithdrawal(proveArgs);
    // Wait until the prove withdrawal is processed.
    const proveReceipt = await publicClientL1.waitForTransactionReceipt({ hash: proveHash });
    expect(proveReceipt.status).toBe("success");
    // Wait until the withdrawal is ready to finalize.
    await publicClientL1.waitToFinalize({ targetChain: walletClientL2.chain, withdrawalHash: withdrawal.withdrawalHash });
    const before = await publicClientL1.getBalance({ address: withdrawal.target });
    // Finalize the withdrawal.
    const finalizeHash = await walletClientL1.finalizeWithdrawal({ targetChain: walletClientL2.chain, withdrawal });
    // Wait until the withdrawal is finalized.
    const finalizeReceipt = await publicClientL1.waitForTransactionReceipt({ hash: finalizeHash });
    expect(finalizeReceipt.status).toBe("success");
    expect(await publicClientL1.getBalance({ address: withdrawal.target })).toBe(before + parseEther("1"));
  });
});
