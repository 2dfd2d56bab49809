import { contract, type Devnet, loadContracts } from "@rnode/devnet";
import { bytesToHex } from "@rnode/primitives";
import { createPublicClient, createWalletClient, defineChain, type Hex, http, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { Sender } from "../common/load-generator.ts";

/** Gives every sender ether and tokens. @returns the address of the token */
export async function fundSenders(devnet: Devnet, senders: readonly Sender[]): Promise<Uint8Array> {
  const { info } = devnet;
  const chain = defineChain({
    id: info.l2ChainId,
    name: "L2",
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [info.endpoints.sequencer.http] } },
  });
  const account = privateKeyToAccount(info.accounts[5]!.privateKey);
  const wallet = createWalletClient({ account, chain, transport: http() });
  const client = createPublicClient({ chain, transport: http(), pollingInterval: 200 });
  const { abi, creationCode } = contract(loadContracts(), "TestToken");
  const deployed = await client.waitForTransactionReceipt({
    hash: await wallet.deployContract({ abi, bytecode: creationCode, args: ["Bench", "BNC", parseEther("1000000000")] }),
  });
  const token = deployed.contractAddress!;
  let nonce = await client.getTransactionCount({ address: account.address });
  const fees = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1_000_000n } as const;
  let last: Hex | undefined;
  for (const { address } of senders) {
    const to = bytesToHex(address) as Hex;
    await wallet.sendTransaction({ to, value: parseEther("20"), nonce: nonce++, gas: 21_000n, ...fees });
    const args = [to, parseEther("1000")];
    last = await wallet.writeContract({
      address: token,
      abi,
      functionName: "transfer",
      args,
      nonce: nonce++,
      gas: 100_000n,
      ...fees,
    });
  }
  const receipt = await client.waitForTransactionReceipt({ hash: last!, timeout: 60_000 });
  if (receipt.status !== "success") throw new Error("the senders could not be given tokens");
  return Uint8Array.from(Buffer.from(token.slice(2), "hex"));
}
