import { isDeepStrictEqual } from "node:util";
import { liesAbout } from "@rnode/jsonrpc/testing";
import { bytesToHex, compareBytes, encodeRlp, equalBytes, isCodedError, keccak256, trimBytesLeft } from "@rnode/primitives";
import { createProof, encodeAccount, SortedTrieBuilder, witnessNodeReader } from "@rnode/trie";
import { describe, expect, it } from "vitest";
import { L1Endpoints } from "../endpoints/endpoints.ts";
import { L1Client } from "../l1-client.ts";
import { blockFixture } from "../testing/block-json.ts";
import { FakeClock, FakeEndpoint } from "../testing/fake-endpoint.ts";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);
const CONTRACT = filled(20, 0x5c);
const SLOT = filled(32, 0x65);
const WORD = new Uint8Array(32).fill(0xab, 12);

/** A trie of these values under the hashes of their keys. */
function trieOf(entries: readonly (readonly [key: Uint8Array, value: Uint8Array])[]) {
  const nodes: Uint8Array[] = [];
  const builder = new SortedTrieBuilder((_, rlp) => nodes.push(rlp.slice()));
  const hashed = entries.map(([key, value]) => [keccak256(key), value] as const);
  for (const [key, value] of hashed.sort(([a], [b]) => compareBytes(a, b))) builder.add(key, value);
  const root = builder.finish();
  const reader = witnessNodeReader(nodes);
  return { root, proofOf: (key: Uint8Array) => createProof(reader, undefined, root, keccak256(key)).map(bytesToHex) };
}

/** Seven adjacent slots, so proofs have branches. */
const neighbours = [1, 2, 3, 4, 5, 6, 7];
const storage = trieOf([
  [SLOT, encodeRlp(trimBytesLeft(WORD))] as const,
  ...neighbours.map((n) => [filled(32, n), encodeRlp(Uint8Array.of(n))] as const),
]);
const accountOf = (storageRoot: Uint8Array) => encodeAccount({ nonce: 1n, balance: 2n, storageRoot, codeHash: filled(32, 0x99) });
const state = trieOf([
  [CONTRACT, accountOf(storage.root)] as const,
  ...neighbours.map((n) => [filled(20, n), accountOf(filled(32, n))] as const),
]);
const BLOCK = blockFixture(100, 0, undefined, undefined, state.root);
const EMPTY_BLOCK = blockFixture(101, 0);

const proofJson = (address: Uint8Array, slot: Uint8Array) => ({
  address: bytesToHex(address),
  accountProof: state.proofOf(address),
  storageProof: [{ key: bytesToHex(slot), value: "0x0", proof: equalBytes(address, CONTRACT) ? storage.proofOf(slot) : [] }],
});

function clientOf(answer: (method: string, params: readonly unknown[]) => unknown, trustRpc = false) {
  const rpc = new FakeEndpoint([BLOCK, EMPTY_BLOCK]);
  rpc.override = answer;
  const clock = new FakeClock();
  const log = { warn: () => {}, debug: () => {} };
  const endpoints = new L1Endpoints({ chainId: 900n, maxAttempts: 1 }, { endpoints: [{ name: "one", rpc }], clock, log });
  return { rpc, l1: new L1Client({ trustRpc, rpcKind: "standard", cacheSize: 10 }, { endpoints, clock }) };
}

async function read(answer: unknown, { address = CONTRACT, slot = SLOT, number = 100 } = {}) {
  const { l1 } = clientOf((method) => (method === "eth_getProof" ? answer : undefined));
  const block = await l1.blockByNumber(number);
  return l1.storageAt(address, slot, block!);
}

describe("a storage slot of an L1 contract", () => {
  it("has the value that the block's state root proves", async () => {
    expect(await read(proofJson(CONTRACT, SLOT))).toEqual({ value: WORD, isProven: true });
    expect(await read(proofJson(CONTRACT, filled(32, 3)), { slot: filled(32, 3) })).toEqual({
      value: new Uint8Array(32).fill(3, 31),
      isProven: true,
    });
  });

  it("is zero where the slot, or the account, is proved not to exist", async () => {
    const zero = { value: new Uint8Array(32), isProven: true };
    expect(await read(proofJson(CONTRACT, filled(32, 0x77)), { slot: filled(32, 0x77) })).toEqual(zero);
    expect(await read(proofJson(filled(20, 0x77), SLOT), { address: filled(20, 0x77) })).toEqual(zero);
  });

  it("is never another one, whatever the endpoint says", async () => {
    let refused = 0;
    for (const { answer } of liesAbout(proofJson(CONTRACT, SLOT))) {
      const result = await read(answer).catch((error: unknown) => error);
      if (isCodedError(result, "l1/unavailable")) refused++;
      // other parts of the answer may have any value
      else expect(isDeepStrictEqual(result, { value: WORD, isProven: true })).toBe(true);
    }
    expect(refused).toBeGreaterThan(20);
  });

  it("is not believed from the proof of another slot, account or block", async () => {
    for (const [proof, asked] of [
      [proofJson(CONTRACT, filled(32, 3)), {}],
      [proofJson(filled(20, 1), SLOT), {}],
      [proofJson(CONTRACT, SLOT), { number: 101 }],
    ] as const) {
      await expect(read(proof, asked)).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
    }
  });

  it("cannot be read without a proof, unless the endpoint is trusted", async () => {
    const plain = (method: string) => (method === "eth_getStorageAt" ? bytesToHex(WORD) : undefined);
    const asked = clientOf(plain);
    const block = (await asked.l1.blockByNumber(100))!;
    await expect(asked.l1.storageAt(CONTRACT, SLOT, block)).rejects.toThrow("the method does not exist");
    expect(asked.rpc.calls).not.toContain("eth_getStorageAt");

    const trusted = clientOf(plain, true);
    expect(await trusted.l1.storageAt(CONTRACT, SLOT, block)).toEqual({ value: WORD, isProven: false });
    expect(trusted.rpc.calls).not.toContain("eth_getProof");
  });

  it("is asked for by the block's hash", async () => {
    let params: readonly unknown[] = [];
    const { l1 } = clientOf((method, given) => {
      if (method !== "eth_getProof") return undefined;
      params = given;
      return proofJson(CONTRACT, SLOT);
    });
    await l1.storageAt(CONTRACT, SLOT, (await l1.blockByNumber(100))!);
    expect(params).toEqual([bytesToHex(CONTRACT), [bytesToHex(SLOT)], { blockHash: BLOCK.hash }]);
  });
});
