import { type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import { decodeAccount, verifyProof } from "@rnode/trie";
import { createPublicClient, erc20Abi, http, parseEther } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type DevClient, startDevTestClient } from "../testing/dev-client.ts";

const alice = mnemonicToAccount("test test test test test test test test test test test junk");
const TO: Hex = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const TOKEN: Hex = `0x${"70".repeat(20)}`;
const SLOT: Hex = `0x${"00".repeat(31)}05`;
/** A token: balances in the mapping of slot 9 by owner, allowances by owner and spender; it reads slot 0 first, as a proxy does. */
const TOKEN_CODE: Hex = ("0x5f54506004355f5260096020526040" +
  "5f2036602410601f57545f5260205ff35b6020526024355f5260405f20545f5260205ff3") as Hex;
const RETURNS_CHAIN_ID: Hex = "0x465f5260205ff3";

let dev: DevClient;
let nonce = 0;
const client = () => createPublicClient({ chain: foundry, transport: http(dev.url) });
const send = async (fields: object): Promise<Hex> => {
  const base = { type: "eip1559", chainId: foundry.id, to: TO, value: 1n, gas: 21_000n, nonce } as const;
  const raw = await alice.signTransaction({ ...base, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n, ...fields });
  return dev.rpc.call<Hex>("eth_sendRawTransaction", [raw]);
};
beforeAll(async () => {
  dev = await startDevTestClient("--dev.slots-in-an-epoch=4");
});
beforeEach(async () => {
  nonce = Number(await dev.rpc.call<Hex>("eth_getTransactionCount", [alice.address, "latest"]));
});
afterAll(() => dev.close());

describe("safe and finalized", () => {
  const numbers = async (): Promise<number[]> => {
    const blocks = await Promise.all(
      ["finalized", "safe", "latest"].map((tag) => dev.rpc.call<{ number: Hex }>("eth_getBlockByNumber", [tag, false])),
    );
    return blocks.map((block) => Number(block.number));
  };

  it("are the genesis of a young chain, then as far behind as they say, also after rollbacks", async () => {
    expect(await numbers()).toEqual([0, 0, 0]);
    for (const [mined, expected] of [
      [1, [0, 0, 1]],
      [3, [0, 0, 4]],
      [1, [0, 1, 5]],
      [5, [2, 6, 10]],
    ] as const) {
      await dev.rpc.call("anvil_mine", [mined]);
      expect(await numbers()).toEqual(expected);
    }
    await dev.rpc.call("anvil_rollback", [9]);
    expect(await numbers()).toEqual([0, 0, 1]);
    await dev.rpc.call("anvil_mine", [9]);
    await dev.rpc.call("anvil_reset", []);
    expect(await numbers()).toEqual([0, 0, 0]);
    expect(await dev.rpc.call("eth_getBalance", [alice.address, "safe"])).toBe(`0x${parseEther("10000").toString(16)}`);
  });
});

describe("eth_getProof with values set by hand", () => {
  const proves = async (address: Hex): Promise<readonly [Hex, Hex]> => {
    const block = await dev.rpc.call<{ stateRoot: Hex }>("eth_getBlockByNumber", ["latest", false]);
    const proof = await dev.rpc.call<{
      balance: Hex;
      nonce: Hex;
      storageHash: Hex;
      accountProof: Hex[];
      storageProof: { value: Hex; proof: Hex[] }[];
    }>("eth_getProof", [address, [SLOT], "latest"]);
    const leaf = verifyProof(
      hexToBytes(block.stateRoot),
      keccak256(hexToBytes(address)),
      proof.accountProof.map((each) => hexToBytes(each)),
    );
    const account = leaf === undefined ? { balance: 0n, nonce: 0n } : decodeAccount(leaf);
    expect([BigInt(proof.balance), BigInt(proof.nonce)]).toEqual([account.balance, account.nonce]);
    const [slot] = proof.storageProof;
    const word =
      leaf === undefined
        ? undefined
        : verifyProof(
            decodeAccount(leaf).storageRoot,
            keccak256(hexToBytes(SLOT)),
            slot!.proof.map((each) => hexToBytes(each)),
          );
    expect(BigInt(slot!.value) !== 0n).toBe(word !== undefined);
    return [proof.balance, slot!.value];
  };

  const EDITS: readonly (readonly [string, unknown[]])[] = [
    ["anvil_setBalance", ["0x7"]],
    ["anvil_setNonce", ["0x7"]],
    ["anvil_setCode", ["0x00"]],
    ["anvil_setStorageAt", [SLOT, `0x${"00".repeat(31)}07`]],
  ];
  it.each([TO, `0x${"ab".repeat(20)}` as Hex])("proves what it shows for %s, before and after the next block", async (address) => {
    for (const [method, values] of EDITS) {
      await dev.rpc.call(method, [address, ...values]);
      await proves(address);
    }
    await dev.rpc.call("evm_mine", []);
    expect(await proves(address)).toEqual(["0x7", "0x7"]);
  });
});

describe("a transaction that automine can never include", () => {
  const txpool = () => dev.rpc.call<{ pending: Hex; queued: Hex }>("txpool_status", []);

  it("is refused and leaves the pool", async () => {
    await dev.rpc.call("evm_setBlockGasLimit", ["0xf4240"]); // a million
    const [from] = await dev.rpc.call<Hex[]>("eth_accounts", []);
    await expect(send({ gas: 1_000_001n })).rejects.toThrow(/fits into no block/);
    await expect(send({ maxFeePerGas: 2n, maxPriorityFeePerGas: 1n })).rejects.toThrow(/fits into no block|fee/);
    await expect(dev.rpc.call("eth_sendTransaction", [{ from, to: TO, gas: "0xf4241" }])).rejects.toThrow(/fits into no block/);
    await dev.rpc.call("anvil_setBalance", [TO, "0xde0b6b3a7640000"]);
    await dev.rpc.call("anvil_impersonateAccount", [TO]);
    await expect(dev.rpc.call("eth_sendTransaction", [{ from: TO, to: from, gas: "0xf4241" }])).rejects.toThrow(
      /fits into no block/,
    );
    expect(await txpool()).toEqual({ pending: "0x0", queued: "0x0" });
    await dev.rpc.call("evm_setBlockGasLimit", ["0x1c9c380"]);
    const hash = await send({ gas: 1_000_001n });
    expect(await dev.rpc.call("eth_getTransactionReceipt", [hash])).toMatchObject({ status: "0x1" });
  });

  it("waits without automine, and behind a missing nonce", async () => {
    await send({ nonce: nonce + 1 });
    expect(await txpool()).toEqual({ pending: "0x0", queued: "0x1" });
    await send({});
    expect(await txpool()).toEqual({ pending: "0x0", queued: "0x0" });
    nonce += 2;
    await dev.rpc.call("evm_setAutomine", [false]);
    await send({ maxFeePerGas: 2n, maxPriorityFeePerGas: 1n });
    expect(await txpool()).toEqual({ pending: "0x1", queued: "0x0" });
    await dev.rpc.call("anvil_dropAllTransactions", []);
    await dev.rpc.call("evm_setAutomine", [true]);
  });
});

describe("what users of anvil and Hardhat ask besides", () => {
  it("anvil_dealERC20 and anvil_setERC20Allowance find the slot", async () => {
    await dev.rpc.call("anvil_setCode", [TOKEN, TOKEN_CODE]);
    const read = { address: TOKEN, abi: erc20Abi } as const;
    for (const amount of [0n, 1n, 5n * 10n ** 18n, 2n ** 256n - 1n]) {
      const hex = `0x${amount.toString(16)}`;
      await dev.rpc.call("anvil_dealERC20", [TO, TOKEN, hex]);
      await dev.rpc.call("anvil_setERC20Allowance", [alice.address, TO, TOKEN, hex]);
      expect(await client().readContract({ ...read, functionName: "balanceOf", args: [TO] })).toBe(amount);
      expect(await client().readContract({ ...read, functionName: "allowance", args: [alice.address, TO] })).toBe(amount);
    }
    expect(await client().readContract({ ...read, functionName: "balanceOf", args: [alice.address] })).toBe(0n);
    await expect(dev.rpc.call("anvil_dealERC20", [TO, alice.address, "0x1"])).rejects.toThrow(/no storage slot/);
  });

  it("evm_mine_detailed answers with the blocks", async () => {
    await dev.rpc.call("evm_setAutomine", [false]);
    const hash = await send({});
    const blocks = await dev.rpc.call<{ hash: Hex; transactions: { hash: Hex }[] }[]>("evm_mine_detailed", [{ blocks: 2 }]);
    expect(blocks.map(({ transactions }) => transactions.map((tx) => tx.hash))).toEqual([[hash], []]);
    expect(await dev.rpc.call("eth_getBlockByHash", [blocks[0]!.hash, true])).toEqual(blocks[0]);
    await dev.rpc.call("evm_setAutomine", [true]);
  });

  it("anvil_setChainId: everything has the new id, transactions of the old one are refused", async () => {
    await dev.rpc.call("anvil_setCode", [TOKEN, RETURNS_CHAIN_ID]);
    await dev.rpc.call("anvil_setChainId", [10]);
    expect(await Promise.all([dev.rpc.call("eth_chainId", []), dev.rpc.call("net_version", [])])).toEqual(["0xa", "10"]);
    expect(await dev.rpc.call("eth_call", [{ to: TOKEN }, "latest"])).toBe(`0x${"a".padStart(64, "0")}`);
    await expect(send({})).rejects.toThrow(/chain/i);
    const hash = await send({ chainId: 10 });
    expect(await dev.rpc.call("eth_getTransactionReceipt", [hash])).toMatchObject({ status: "0x1" });
    await dev.rpc.call("anvil_setChainId", [foundry.id]);
    await expect(dev.rpc.call("anvil_setChainId", [0])).rejects.toThrow(/chain id 0/);
  });

  it("--dev.client-name is what tools see", async () => {
    const named = await startDevTestClient("--dev.client-name=anvil/v1.0.0");
    try {
      expect(await named.rpc.call("web3_clientVersion", [])).toBe("anvil/v1.0.0");
      expect(await named.rpc.call("hardhat_metadata", [])).toMatchObject({ clientVersion: "anvil/v1.0.0", chainId: 31337 });
    } finally {
      await named.close();
    }
    expect(await dev.rpc.call("web3_clientVersion", [])).toMatch(/^rengine/);
  });
});
