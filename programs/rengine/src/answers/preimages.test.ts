import { bytesToHex, checksumAddress, type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import { privateKeyToAccount } from "viem/accounts";
import { afterEach, describe, expect, it } from "vitest";
import { holdingToDescription } from "../testing/described-answers.ts";
import { CHAIN_ID, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

const account = privateKeyToAccount(RICH_KEY);
const NEW: Hex = `0x${"5a".repeat(20)}`;
/** has a slot from the genesis on */
const KEEPER: Hex = `0x${"7e".repeat(20)}`;
const word = (value: number): Hex => `0x${value.toString(16).padStart(64, "0")}`;
const hashOf = (key: Hex): Hex => bytesToHex(keccak256(hexToBytes(key)));
type Dump = { accounts: Record<string, { address?: Hex; key: Hex; storage?: Record<Hex, string> }>; next?: Hex };

let node: TestClient;
afterEach(() => node.remove());

/** A chain with a block that touches two accounts. */
async function start(...options: string[]) {
  node = await startTestClient(["--profile=G", "--http.api=eth,debug", ...options], undefined, {
    alloc: { [KEEPER]: { balance: "0x1", storage: { [word(3)]: word(5) } } },
  });
  const fees = { type: "eip1559", gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n } as const;
  await node.rpc.call("eth_sendRawTransaction", [
    await account.signTransaction({ chainId: CHAIN_ID, nonce: 0, to: NEW, value: 1n, ...fees }),
  ]);
  const { hash } = await node.buildBlock();
  const described = holdingToDescription(node.rpc);
  const rpc = <T>(method: string, ...params: unknown[]): Promise<T> => described.call<T>(method, params);
  return { hash, rpc };
}

describe("addresses and slots behind hashes", () => {
  it("are known with --preimages, of the genesis and of blocks", async () => {
    const { hash, rpc } = await start("--preimages");
    for (const key of [NEW, RICH_ADDRESS, KEEPER, word(3)])
      expect(await rpc("debug_preimage", hashOf(key))).toBe(key.toLowerCase());
    await expect(rpc("debug_preimage", word(3))).rejects.toMatchObject({ message: "unknown preimage" });
    const all = await rpc<Dump>("debug_dumpBlock", "latest");
    expect(Object.keys(all.accounts).filter((name) => name.startsWith("pre("))).toEqual([]);
    expect(all.accounts[checksumAddress(hexToBytes(KEEPER))]).toMatchObject({
      address: KEEPER,
      key: hashOf(KEEPER),
      storage: { [word(3)]: "05" },
    });
    // without incompletes
    expect((await rpc<Dump>("debug_accountRange", "latest", "0x", 256, false, false, false)).accounts).toEqual(all.accounts);
    expect(await rpc("debug_storageRangeAt", hash, 0, KEEPER, "0x", 10)).toEqual({
      storage: { [hashOf(word(3))]: { key: word(3), value: word(5) } },
      nextKey: null,
    });
  });

  it("are not kept without the option: there are hashes, or nothing", async () => {
    const { hash, rpc } = await start();
    await expect(rpc("debug_preimage", hashOf(NEW))).rejects.toMatchObject({ message: "unknown preimage" });
    const all = await rpc<Dump>("debug_dumpBlock", "latest");
    expect(all.accounts[`pre(${hashOf(KEEPER)})`]).toMatchObject({ storage: { [hashOf(word(3))]: "05" } });
    expect(all.accounts[`pre(${hashOf(KEEPER)})`]).not.toHaveProperty("address");
    expect((await rpc<Dump>("debug_accountRange", "latest", "0x", 256, false, false, false)).accounts).toEqual({});
    expect(await rpc("debug_storageRangeAt", hash, 0, KEEPER, "0x", 10)).toEqual({
      storage: { [hashOf(word(3))]: { key: null, value: word(5) } },
      nextKey: null,
    });
  });
});
