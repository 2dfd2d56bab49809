import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDevChain } from "@rnode/chain/testing";
import { RpcError } from "@rnode/jsonrpc";
import {
  bigintToBytes,
  bytesToHex,
  EMPTY_KECCAK,
  equalBytes,
  type Hex,
  hexToBytes,
  hexToFixedBytes,
  keccak256,
  toQuantity,
} from "@rnode/primitives";
import { parseGenesis } from "@rnode/protocol";
import { createProof } from "@rnode/trie";
import fc from "fast-check";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import type { BlockingRpc, RpcCall, RpcOutcome } from "./blocking-rpc.ts";
import { ForkCache } from "./fork-cache.ts";
import { RemoteState } from "./remote-state.ts";

const address = (byte: string): Hex => `0x${byte.repeat(20)}`;
const slot = (number: number): Hex => bytesToHex(bigintToBytes(BigInt(number), 32));
const [CONTRACT, TWIN, RICH, NOBODY] = ["c0", "c1", "a1", "ee"].map(address) as [Hex, Hex, Hex, Hex];
const CODE = "0x5f545f5260205ff3";
const SLOTS = 12;

const origin = openDevChain("jovian", {
  genesis: parseGenesis({
    config: null,
    timestamp: 1000,
    gasLimit: "0x1c9c380",
    extraData: "0x01000000fa000000060000000000000000",
    baseFeePerGas: "0x7",
    alloc: {
      [RICH]: { balance: "0x1234567890abcdef" },
      [CONTRACT]: {
        balance: "0x5",
        nonce: "0x1",
        code: CODE,
        storage: Object.fromEntries(Array.from({ length: SLOTS }, (_, at) => [slot(at), slot(at * 3 + 1)])),
      },
      [TWIN]: { balance: "0x0", nonce: "0x1", code: CODE },
    },
  }),
});
afterAll(() => origin.remove());

const { block, hash } = origin.chain.genesis;
const id = { number: 0, hash: bytesToHex(hash) };
const truth = origin.chain.stateAt(id)!;
const trie = origin.chain.trieNodesAt(id)!;

/** What an honest endpoint answers. */
function honest({ method, params }: RpcCall): unknown {
  const who = typeof params[0] === "string" && params[0].length === 42 ? hexToBytes(params[0]) : undefined;
  const account = who && truth.readAccount(who);
  switch (method) {
    case "eth_getBlockByNumber":
      return { hash: id.hash };
    case "eth_getBalance":
      return toQuantity(account?.balance ?? 0n);
    case "eth_getTransactionCount":
      return toQuantity(account?.nonce ?? 0n);
    case "eth_getCode":
      return account === undefined || equalBytes(account.codeHash, EMPTY_KECCAK)
        ? "0x"
        : bytesToHex(truth.readCode(account.codeHash));
    case "eth_getStorageAt":
      return bytesToHex(truth.readStorage(who!, hexToBytes(params[1] as Hex)) ?? new Uint8Array(32));
    case "eth_createAccessList":
      return { accessList: [{ address: CONTRACT, storageKeys: Array.from({ length: SLOTS }, (_, at) => slot(at)) }] };
    case "eth_getProof":
      return {
        accountProof: createProof(trie, undefined, block.header.stateRoot, keccak256(who!)).map(bytesToHex),
        storageProof: (params[1] as Hex[]).map((key) => ({
          key,
          proof:
            account === undefined
              ? []
              : createProof(trie, keccak256(who!), account.storageRoot, keccak256(hexToBytes(key))).map(bytesToHex),
        })),
      };
    default:
      throw new Error(method);
  }
}

interface Endpoint extends BlockingRpc {
  readonly calls: RpcCall[];
}

function endpoint(change: (call: RpcCall, outcome: RpcOutcome) => RpcOutcome = (_, outcome) => outcome): Endpoint {
  const calls: RpcCall[] = [];
  let requests = 0;
  return {
    calls,
    host: "endpoint.test",
    get requests() {
      return requests;
    },
    batch(asked) {
      requests++;
      calls.push(...asked);
      return asked.map((call) => change(call, { kind: "result", result: honest(call) }));
    },
    close: async () => {},
  };
}

const withoutProofs = (call: RpcCall, outcome: RpcOutcome): RpcOutcome =>
  call.method === "eth_getProof" ? { kind: "error", code: -32601, message: "the method eth_getProof does not exist" } : outcome;

const warnings: string[] = [];
const log = { warn: (message: string) => void warnings.push(message) };
let folder: string;
let nowSec = 1_700_000_000;
beforeEach(() => {
  warnings.length = 0;
  folder = mkdtempSync(join(tmpdir(), "rnode-fork-cache-"));
});

const cacheOf = (maxBytes = 1 << 20, chainId = 7n, blockHash = hash): ForkCache =>
  new ForkCache({ nowSec: ++nowSec, folder, maxBytes, chainId, blockHash }, log);
const stateOf = (rpc: BlockingRpc, cache?: ForkCache): RemoteState => new RemoteState({ block, hash }, rpc, log, cache);

/** Reads everything, and compares it with the chain. */
function expectTruth(state: Pick<RemoteState, "account" | "storage" | "code">): void {
  expect(allOf(state)).toEqual(TRUTH);
}

function allOf(state: Pick<RemoteState, "account" | "storage" | "code">): unknown {
  return {
    accounts: [CONTRACT, TWIN, RICH, NOBODY].map((who) => {
      const { balance, nonce, codeHash } = state.account(hexToBytes(who)) ?? {};
      return { balance, nonce, codeHash: codeHash && bytesToHex(codeHash) };
    }),
    code: bytesToHex(state.code(keccak256(hexToBytes(CODE)))!),
    slots: Array.from({ length: SLOTS + 1 }, (_, at) => {
      const word = state.storage(hexToBytes(CONTRACT), hexToBytes(slot(at)));
      return word && bytesToHex(word);
    }),
  };
}

const TRUTH = allOf({
  account: (who) => truth.readAccount(who),
  storage: (who, at) => truth.readStorage(who, at),
  code: (codeHash) => truth.readCode(codeHash),
});

/** Changes one character of one text in an answer, or takes one element of a list away. */
function damaged(value: unknown, pick: number, at: { left: number }): unknown {
  if (typeof value === "string") {
    if (at.left-- !== 0) return value;
    const place = 2 + (pick % Math.max(1, value.length - 2));
    return value.length <= 2 ? "0x01" : value.slice(0, place) + (value[place] === "0" ? "1" : "0") + value.slice(place + 1);
  }
  if (Array.isArray(value)) {
    if (at.left-- === 0) return value.slice(1);
    return value.map((each) => damaged(each, pick, at));
  }
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, damaged(each, pick, at)]));
  return value;
}

describe("the state of another chain", () => {
  it("is the chain's, and asked for once", () => {
    const rpc = endpoint();
    const state = stateOf(rpc);
    expectTruth(state);
    const { requests } = rpc;
    expectTruth(state);
    expect(rpc.requests).toBe(requests);
    expect(warnings).toEqual([]);
  });

  it("without proofs, it is the same, with one warning", () => {
    expectTruth(stateOf(endpoint(withoutProofs)));
    expect(warnings).toHaveLength(1);
  });

  it("is the chain's or an error, whatever is changed in an answer that is proven", () => {
    const readAll = fc.property(fc.nat(39), fc.nat(39), fc.nat(5000), (nth, text, pick) => {
      let seen = 0;
      const rpc = endpoint((_, outcome) => {
        if (outcome.kind !== "result" || seen++ !== nth) return outcome;
        return { kind: "result", result: damaged(outcome.result, pick, { left: text }) };
      });
      const state = stateOf(rpc, cacheOf());
      try {
        expectTruth(state);
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        expect(error.message).toMatch(/endpoint of --fork-url, endpoint.test/);
      }
      // The values on disk are true as well.
      const calls = endpoint();
      expectTruth(stateOf(calls, cacheOf()));
    });
    fc.assert(readAll, { numRuns: 100 });
  });

  it.each([true, false])("a block that has left the endpoint's chain is an error that says so (proofs: %s)", (hasProofs) => {
    const rpc = endpoint((call, outcome) => {
      if (call.method === "eth_getBlockByNumber") return { kind: "result", result: { hash: `0x${"99".repeat(32)}` } };
      if (call.method === "eth_getBalance") return { kind: "result", result: "0x7" };
      if (!hasProofs) return withoutProofs(call, outcome);
      return call.method === "eth_getProof" ? { kind: "result", result: { accountProof: ["0x80"], storageProof: [] } } : outcome;
    });
    expect(() => stateOf(rpc).account(hexToBytes(RICH))).toThrow(/has another block 0 now.*left its chain.*anvil_reset/);
  });

  it.each<[string, unknown]>([
    ["nothing", null],
    ["no list", { accessList: "0x" }],
    ["junk", { accessList: [null, {}, { address: "0x1", storageKeys: [] }, { address: CONTRACT, storageKeys: ["0x1", 7, null] }] }],
    [
      "a million slots",
      { accessList: [{ address: CONTRACT, storageKeys: Array.from({ length: 1_000_000 }, (_, at) => slot(at)) }] },
    ],
  ])("an access list of %s does no harm", (_name, result) => {
    const rpc = endpoint((call, outcome) => (call.method === "eth_createAccessList" ? { kind: "result", result } : outcome));
    const state = stateOf(rpc);
    const read = () => state.storage(hexToBytes(CONTRACT), hexToBytes(slot(1)));
    expect(state.expecting({ calls: () => [{ to: CONTRACT }] }, read)).toEqual(hexToFixedBytes(slot(4), 32));
    const proven = rpc.calls.flatMap(({ method, params }) => (method === "eth_getProof" ? [(params[1] as Hex[]).length] : []));
    expect(Math.max(...proven)).toBeLessThanOrEqual(256);
    expect(proven.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(4_100);
  });

  it("a call that touches many slots takes two requests, and the same call in a block none", () => {
    const rpc = endpoint();
    const state = stateOf(rpc);
    const call = { from: RICH, to: CONTRACT, data: "0x", gas: "0x5208", maxFeePerGas: "0x1" };
    const read = (): void => {
      state.account(hexToBytes(RICH));
      for (let at = 0; at < SLOTS; at++) state.storage(hexToBytes(CONTRACT), hexToBytes(slot(at)));
    };
    state.expecting({ calls: () => [call] }, read);
    expect(rpc.requests).toBe(2);
    expect(rpc.calls[0]).toEqual({ method: "eth_createAccessList", params: [{ from: RICH, to: CONTRACT, input: "0x" }, "0x0"] });
    state.expecting({ calls: () => [call], targets: () => [{ address: TWIN, slots: [slot(0)] }] }, () => {
      read();
      state.storage(hexToBytes(TWIN), hexToBytes(slot(0)));
    });
    expect(rpc.requests).toBe(3);
  });
});

describe("the fork cache", () => {
  const fileOf = (provenance: string): string => join(folder, "7", bytesToHex(hash), provenance);
  const fill = (change?: Parameters<typeof endpoint>[0]): void => expectTruth(stateOf(endpoint(change), cacheOf()));

  it("saves all requests of the next run", () => {
    fill();
    const rpc = endpoint();
    expectTruth(stateOf(rpc, cacheOf()));
    expect(rpc.requests).toBe(0);
  });

  it("has code that two accounts share once", () => {
    fill();
    const text = bytesToHex(readFileSync(fileOf("proven")));
    expect(text.split(CODE.slice(2))).toHaveLength(2);
  });

  it("damage anywhere is noticed, repaired, and never read", () => {
    fill();
    const whole = readFileSync(fileOf("proven"));
    const damage = fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), fc.boolean(), (at, flip, isCut) => {
      const bytes = Buffer.from(whole);
      bytes[at]! ^= flip;
      writeFileSync(fileOf("proven"), isCut ? whole.subarray(0, at) : bytes);
      expectTruth(stateOf(endpoint(), cacheOf()));
      const rpc = endpoint();
      expectTruth(stateOf(rpc, cacheOf())); // whole again
      expect(rpc.requests).toBe(0);
    });
    fc.assert(damage, { numRuns: 60 });
    expect(warnings.length).toBeGreaterThan(40);
  });

  it("is of one chain and one block", () => {
    fill();
    const other = new Uint8Array(32).fill(5);
    for (const [chainId, blockHash] of [
      [8n, hash],
      [7n, other],
    ] as const) {
      const cache = cacheOf(1 << 20, chainId, blockHash);
      writeFileSync(join(folder, String(chainId), bytesToHex(blockHash), "proven"), readFileSync(fileOf("proven")));
      expect(cache.read("proven")).toEqual([]);
    }
  });

  it("a value without a proof never passes for a proven one", () => {
    const lying = (call: RpcCall, outcome: RpcOutcome): RpcOutcome =>
      call.method === "eth_getBalance" ? { kind: "result", result: "0x77" } : withoutProofs(call, outcome);
    const balance = (rpc: BlockingRpc) => stateOf(rpc, cacheOf()).account(hexToBytes(CONTRACT))?.balance;
    expect(balance(endpoint(lying))).toBe(0x77n);
    expectTruth(stateOf(endpoint(), cacheOf()));
    // An endpoint without proofs gets both kinds: proven values take precedence.
    const again = endpoint(lying);
    expect(balance(again)).toBe(5n);
    expect(again.requests).toBe(0);
  });

  it("serves an endpoint without proofs after one refusal", () => {
    fill(withoutProofs);
    const rpc = endpoint(withoutProofs);
    const state = stateOf(rpc, cacheOf());
    expectTruth(state);
    expect(rpc.requests).toBeLessThanOrEqual(3);
  });

  it("has no more bytes than it may, and removes the blocks that were not used for longest", () => {
    fill();
    const { size } = statSync(fileOf("proven"));
    const before = endpoint();
    expectTruth(
      stateOf(before, new ForkCache({ nowSec: ++nowSec, folder, maxBytes: size * 4, chainId: 8n, blockHash: hash }, log)),
    );
    expect(readdirSync(join(folder, "7"))).toHaveLength(1);
    expect(warnings).toEqual([]);
    const tight = new ForkCache({ nowSec: ++nowSec, folder, maxBytes: Math.floor(size * 2.5), chainId: 9n, blockHash: hash }, log);
    expect(readdirSync(join(folder, "7"))).toHaveLength(0); // longest unused
    expectTruth(stateOf(endpoint(), tight));
    const small = new ForkCache({ nowSec: ++nowSec, folder, maxBytes: 300, chainId: 10n, blockHash: hash }, log);
    expectTruth(stateOf(endpoint(), small));
    expect(warnings).toEqual([expect.stringMatching(/fork cache is full/)]);
    const left = ["7", "8", "9", "10"].flatMap((chain) =>
      readdirSync(join(folder, chain), { recursive: true, withFileTypes: true })
        .filter((each) => each.isFile())
        .map((each) => statSync(join(each.parentPath, each.name)).size),
    );
    expect(left.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(300);
  });

  it("leaves files alone that are not its own", () => {
    writeFileSync(join(folder, "notes.txt"), "x".repeat(1000));
    cacheOf(10);
    expect(readFileSync(join(folder, "notes.txt"), "utf8")).toHaveLength(1000);
  });

  it("a disk that cannot be written ends the cache, not the chain", () => {
    const cache = cacheOf();
    rmSync(folder, { recursive: true, force: true });
    expectTruth(stateOf(endpoint(), cache));
    expect(warnings).toEqual([expect.stringMatching(/cannot be written/)]);
  });
});
