import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { createPublicClient, createWalletClient, type Hex, http, padHex, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { getWithdrawals, publicActionsL1, publicActionsL2, walletActionsL1, walletActionsL2 } from "viem/op-stack";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import { contract, loadContracts } from "../l1/contracts.ts";
import { rpcCall } from "../rpc.ts";
import { l1ViemChain, l2ViemChain } from "../viem-chains.ts";
import { waitFor } from "./wait.ts";

type Withdrawal = ReturnType<typeof getWithdrawals>[number];

const VALUE = parseEther("0.25");
const RECEIVER = padHex("0xfeed", { size: 20 });

/** From the L2 to L1 and out, with viem's actions alone: the proposer of the devnet does its part, and what resolves games. */
const testWithdrawal = (profile: "R" | "G", proofs: "oracle" | "games"): void => {
  const datadir = mkdtempSync(join(tmpdir(), "rnode-withdrawal-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  let devnet: Devnet;
  let withdrawal: Withdrawal;
  let initiated: Awaited<ReturnType<ReturnType<typeof l2>["waitForTransactionReceipt"]>>;

  beforeAll(async () => {
    devnet = await startDevnet(scope, {
      datadir,
      basePort: 0,
      nodes: 2,
      parameters: { l1BlockTimeSec: 1, l2BlockTimeSec: 1, proofs, finalizationPeriodSec: 6, outputIntervalBlocks: 5 },
      changeArgs: (program, args) => {
        if (program.endsWith("Engine") && args[1] !== "init") return [...args, `--profile=${profile}`];
        return program === "proposer" ? args.map((arg) => arg.replace("--proposal-interval=20s", "--proposal-interval=5s")) : args;
      },
    });
  });
  afterAll(async () => {
    await scope.close();
  });

  const key = (index: number) => privateKeyToAccount(devnet.info.accounts[index]!.privateKey);
  const l2Chain = () => l2ViemChain(devnet.info);
  const options = { pollingInterval: 250 };
  const l1 = () => createPublicClient({ chain: l1ViemChain(devnet.info), transport: http(), ...options }).extend(publicActionsL1());
  const l2 = () => createPublicClient({ chain: l2Chain(), transport: http(), ...options }).extend(publicActionsL2());
  const l1Wallet = (index: number) =>
    createWalletClient({ account: key(index), chain: l1ViemChain(devnet.info), transport: http(), ...options }).extend(
      walletActionsL1(),
    );
  const l2Wallet = (index: number) =>
    createWalletClient({ account: key(index), chain: l2Chain(), transport: http(), ...options }).extend(walletActionsL2());
  const minedOnL1 = async (hash: Hex): Promise<void> => {
    expect((await l1().waitForTransactionReceipt({ hash })).status).toBe("success");
  };

  it("is initiated on the L2", async () => {
    const { http: url } = devnet.info.endpoints.sequencer;
    const block = await rpcCall<object>(url, "eth_getBlockByNumber", ["latest", false]);
    expect("totalDifficulty" in block).toBe(profile === "G"); // it is this face that answers
    const hash = await l2Wallet(6).initiateWithdrawal({ request: { gas: 100_000n, to: RECEIVER, value: VALUE } });
    initiated = await l2().waitForTransactionReceipt({ hash });
    [withdrawal] = getWithdrawals(initiated) as [Withdrawal];
    expect(await l1().getWithdrawalStatus({ receipt: initiated, targetChain: l2Chain() })).toBe("waiting-to-prove");
  });

  it("is proven against what rproposer posted", async () => {
    await waitFor("an output of a block after it", 60_000, async () => {
      const status = await l1().getWithdrawalStatus({ receipt: initiated, targetChain: l2Chain() });
      return status === "ready-to-prove" || undefined;
    });
    const { output } = await l1().waitToProve({ receipt: initiated, targetChain: l2Chain() });
    const root = await rpcCall<[Hex, Hex]>(devnet.info.endpoints.verifier.node, "rnode_outputAtBlock", [
      `0x${output.l2BlockNumber.toString(16)}`,
    ]);
    expect(output.outputRoot).toBe(root[1]);
    const request = await l2().buildProveWithdrawal({ account: key(6), output, withdrawal });
    await minedOnL1(await l1Wallet(6).proveWithdrawal(request));
    expect(await l1().getWithdrawalStatus({ receipt: initiated, targetChain: l2Chain() })).toBe("waiting-to-finalize");
  });

  it("is finalized after the window, and paid out", async () => {
    await l1().waitToFinalize({ targetChain: l2Chain(), withdrawalHash: withdrawal.withdrawalHash });
    await waitFor("the end of the window", 30_000, async () => {
      const status = await l1().getWithdrawalStatus({ receipt: initiated, targetChain: l2Chain() });
      return status === "ready-to-finalize" || undefined;
    });
    await minedOnL1(await l1Wallet(6).finalizeWithdrawal({ targetChain: l2Chain(), withdrawal }));
    expect(await l1().getBalance({ address: RECEIVER })).toBe(VALUE);
    expect(await l1().getWithdrawalStatus({ receipt: initiated, targetChain: l2Chain() })).toBe("finalized");
  });

  it.runIf(proofs === "games")("leaves the proposer its bond", async () => {
    const bundle = loadContracts();
    const factory = { address: devnet.info.contracts.l1.DisputeGameFactory!, abi: contract(bundle, "DisputeGameFactory").abi };
    const [, , address] = (await l1().readContract({ ...factory, functionName: "gameAtIndex", args: [0n] })) as [
      number,
      bigint,
      Hex,
    ];
    const { abi } = contract(bundle, "PermissionedDisputeGame");
    const ofGame = (functionName: string, ...args: readonly unknown[]) => l1().readContract({ address, abi, functionName, args });
    await waitFor("the bond of the first game to be paid back", 40_000, async () => {
      const [status, credit] = await Promise.all([ofGame("status"), ofGame("credit", key(1).address)]);
      return (status === 2 && credit === 0n) || undefined;
    });
  });
};
describe("a withdrawal on face G, proven against games", () => testWithdrawal("G", "games"));
describe("a withdrawal on face R, proven against an output oracle", { tags: "long" }, () => testWithdrawal("R", "oracle"));
