import { hexToBytes } from "@rnode/primitives";
import { challengeEventFromLog, encodeDaCommitment, keccakCommitment, resolvedInput } from "@rnode/protocol";
import { bytesToHex, createPublicClient, createWalletClient, defineChain, type Hex, http, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { devAccounts, devRoles } from "./accounts.ts";
import { contract, loadContracts } from "./l1/contracts.ts";
import { planL1Deployment } from "./l1/l1-contracts.ts";
import { deployL1 } from "./l1/l1-deploy.ts";
import { altDaParameters, type ChainParameters, DEFAULT_PARAMETERS } from "./parameters.ts";
import { rpcCall } from "./rpc.ts";
import { type AnvilFixture, startAnvil } from "./testing/anvil-fixture.ts";

const parameters: ChainParameters = { ...DEFAULT_PARAMETERS, altDa: altDaParameters("keccak256") };
const accounts = devAccounts();
const INPUT = new TextEncoder().encode("\0frames that somebody wants to see");

/** The challenge events that derivation reads match those of the published contract. */
describe("DataAvailabilityChallenge", () => {
  let anvil: AnvilFixture;
  let address: Hex;
  const { abi } = contract(loadContracts(), "DataAvailabilityChallenge");
  beforeAll(async () => {
    anvil = await startAnvil(parameters);
    const roles = devRoles(accounts);
    const plan = planL1Deployment(loadContracts(), roles, parameters);
    address = plan.addresses.DataAvailabilityChallenge!;
    await deployL1(anvil.url, plan, roles, parameters, undefined);
    await rpcCall(anvil.url, "evm_setAutomine", [true]);
  });
  afterAll(async () => {
    await anvil.close();
  });

  it("announces a challenge and its answer as they are read", async () => {
    const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
    const chain = defineChain({ id: 900, name: "L1", nativeCurrency, rpcUrls: { default: { http: [anvil.url] } } });
    const l1 = createPublicClient({ chain, transport: http(), pollingInterval: 50 });
    const wallet = createWalletClient({ account: privateKeyToAccount(accounts[6]!.privateKey), chain, transport: http() });
    const commitment = keccakCommitment(INPUT);
    const encoded = bytesToHex(encodeDaCommitment(commitment));
    const write = async (functionName: string, args: readonly unknown[], value = 0n) => {
      const hash = await wallet.writeContract({ address, abi, functionName, args, value });
      const receipt = await l1.waitForTransactionReceipt({ hash });
      expect(receipt.status).toBe("success");
      const logs = receipt.logs.flatMap(({ topics, data }) => {
        const log = { address: hexToBytes(address), topics: topics.map((topic) => hexToBytes(topic)), data: hexToBytes(data) };
        return topics.length === 2 ? [challengeEventFromLog(log)] : []; // those of bonds have no block
      });
      return { logs, transaction: await l1.getTransaction({ hash }) };
    };

    const block = await l1.getBlockNumber(); // as if the commitment were in it
    await rpcCall(anvil.url, "evm_mine");
    const challenged = await write("challenge", [block, encoded], parseEther("0.1"));
    expect(challenged.logs).toEqual([{ status: "active", challengedBlock: Number(block), commitment }]);
    const resolved = await write("resolve", [block, encoded, bytesToHex(INPUT)]);
    expect(resolved.logs).toEqual([{ status: "resolved", challengedBlock: Number(block), commitment }]);
    expect(resolvedInput(hexToBytes(resolved.transaction.input))).toEqual(INPUT);
  });
});
