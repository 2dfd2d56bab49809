import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { challengeEventFromLog, decodeDaCommitment, keccakCommitment } from "@rnode/protocol";
import { createPublicClient, createWalletClient, type Hex, hexToBytes, http, numberToHex, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import { devnetPaths } from "../files.ts";
import { contract, loadContracts } from "../l1/contracts.ts";
import { altDaParameters } from "../parameters.ts";
import { rpcCall } from "../rpc.ts";
import type { SyncStatus } from "../status.ts";
import { l1ViemChain } from "../viem-chains.ts";
import { waitFor } from "./wait.ts";

interface Posted {
  readonly l1Block: number;
  /** of the commitment, with its type */
  readonly hex: string;
}

describe("a devnet whose batches are outside of L1", () => {
  const datadir = mkdtempSync(join(tmpdir(), "rnode-altda-"));
  const { daStore } = devnetPaths(datadir);
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  let devnet: Devnet;

  beforeAll(async () => {
    const parameters = { l1BlockTimeSec: 1, l2BlockTimeSec: 1, altDa: { ...altDaParameters("keccak256"), challengeWindow: 60 } };
    devnet = await startDevnet(scope, { datadir, basePort: 0, nodes: 2, parameters });
  });
  afterAll(async () => {
    await scope.close();
  });

  const statusOf = (role: "sequencer" | "verifier") => rpcCall<SyncStatus>(devnet.info.endpoints[role].node, "rnode_syncStatus");
  const verifierHas = async (number: number): Promise<void> => {
    await waitFor(`safe block ${number} on the verifier`, 90_000, async () =>
      (await statusOf("verifier")).safe_l2.number >= number ? true : undefined,
    );
    const [sequencer, verifier] = await Promise.all(
      (["sequencer", "verifier"] as const).map((role) =>
        rpcCall<{ hash: Hex }>(devnet.info.endpoints[role].http, "eth_getBlockByNumber", [numberToHex(number), false]),
      ),
    );
    expect(verifier!.hash).toBe(sequencer!.hash);
  };
  /** The commitments on L1 from a block on, in order. */
  const commitments = async (from: number): Promise<Posted[]> => {
    const { l1 } = devnet.info.endpoints;
    const inbox = devnet.info.parameters.batchInbox.toLowerCase();
    const head = Number(await rpcCall<Hex>(l1, "eth_blockNumber"));
    const found: Posted[] = [];
    for (let l1Block = from; l1Block <= head; l1Block++) {
      const block = await rpcCall<{ transactions: { to: Hex | null; input: Hex }[] }>(l1, "eth_getBlockByNumber", [
        numberToHex(l1Block),
        true,
      ]);
      for (const { to, input } of block.transactions) {
        if (to?.toLowerCase() === inbox) found.push({ l1Block, hex: input.slice(4) });
      }
    }
    return found;
  };

  /** Sends a transaction to the challenge contract. @returns its event */
  const write = async (functionName: string, args: readonly unknown[], value = 0n) => {
    const chain = l1ViemChain(devnet.info);
    const account = privateKeyToAccount(devnet.info.accounts[6]!.privateKey);
    const wallet = createWalletClient({ account, chain, transport: http() });
    const l1 = createPublicClient({ chain, transport: http(), pollingInterval: 200 });
    const address = devnet.info.contracts.l1.DataAvailabilityChallenge!;
    const { abi } = contract(loadContracts(), "DataAvailabilityChallenge");
    const hash = await wallet.writeContract({ address, abi, functionName, args, value });
    const receipt = await l1.waitForTransactionReceipt({ hash });
    expect(receipt.status).toBe("success");
    const { topics, data } = receipt.logs.find(({ topics: all }) => all.length === 2)!;
    const asBytes = topics.map((topic) => hexToBytes(topic));
    return challengeEventFromLog({ address: hexToBytes(address), topics: asBytes, data: hexToBytes(data) });
  };

  it("has only commitments on L1, and the verifier derives from the DA server", async () => {
    await verifierHas(5);
    const posted = await commitments(1);
    expect(posted.length).toBeGreaterThan(0);
    for (const { hex } of posted) {
      const input = new Uint8Array(readFileSync(join(daStore, hex)));
      expect(decodeDaCommitment(hexToBytes(`0x${hex}`))).toEqual(keccakCommitment(input));
    }
    expect(readdirSync(daStore).length).toBeGreaterThanOrEqual(posted.length);
  });

  it("derives data that the server has lost and a challenge has shown", { tags: "long", timeout: 240_000 }, async () => {
    await devnet.programs.verifierNode.stop();
    const head = Number(await rpcCall<Hex>(devnet.info.endpoints.l1, "eth_blockNumber"));
    const posted = await waitFor("a batch that the verifier has not read", 60_000, async () => (await commitments(head + 1))[0]);
    const target = (await statusOf("sequencer")).safe_l2.number + 1;
    const input = readFileSync(join(daStore, posted.hex));
    rmSync(join(daStore, posted.hex));
    await devnet.programs.verifierNode.start();
    const stuck = await waitFor("the verifier to look for the data", 60_000, async () =>
      devnet.programs.verifierNode.logTail(50).some((line) => line.includes("waiting for it, or for a challenge"))
        ? true
        : undefined,
    );
    expect(stuck).toBe(true);

    const args = [BigInt(posted.l1Block), `0x${posted.hex}`];
    expect((await write("challenge", args, parseEther("0.1"))).status).toBe("active");
    expect((await write("resolve", [...args, `0x${input.toString("hex")}`])).status).toBe("resolved");
    await verifierHas(target);
  });

  it("takes back what it derived from data that nobody shows in time, and publishes it again", {
    tags: "long",
    timeout: 300_000,
  }, async () => {
    const head = Number(await rpcCall<Hex>(devnet.info.endpoints.l1, "eth_blockNumber"));
    const posted = await waitFor("a new batch", 60_000, async () => (await commitments(head + 1))[0]);
    // Its blocks are safe when the L1 block after it is read; a safe block of before may be of an earlier batch.
    const lost = await waitFor("the verifier to have derived from it", 60_000, async () => {
      const { current_l1, safe_l2 } = await statusOf("verifier");
      return current_l1.number > posted.l1Block ? safe_l2 : undefined;
    });
    expect((await write("challenge", [BigInt(posted.l1Block), `0x${posted.hex}`], parseEther("0.1"))).status).toBe("active");
    rmSync(join(daStore, posted.hex));
    await waitFor("the verifier to take it back", 120_000, async () =>
      (await statusOf("verifier")).safe_l2.number < lost.number ? true : undefined,
    );
    // The sequencer still has the blocks, and the batch submitter publishes them once more.
    await verifierHas(lost.number + 3);
    expect(devnet.programs.verifierNode.isRunning && devnet.programs.sequencerNode.isRunning).toBe(true);
  });
});
