import { forkIdOfRecord } from "@rnode/devp2p/testing";
import { assemble, deployerOf, deposit } from "@rnode/eth-api/testing";
import type { RpcClient } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes, keccak256, toQuantity } from "@rnode/primitives";
import { encodeTransaction } from "@rnode/protocol";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { holdingToDescription } from "../testing/described-answers.ts";
import { CHAIN_ID, GENESIS, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

const account = privateKeyToAccount(RICH_KEY);
const FEES = { type: "eip1559", maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n } as const;
const OTHER: Hex = `0x${"5a".repeat(20)}`;
/** has slots and no code, as an account that took back its delegation (EIP-7702) */
const CODELESS: Hex = `0x${"7e".repeat(20)}`;
const UNKNOWN: Hex = `0x${"77".repeat(20)}`;
/** counts its calls in slot 0, and answers the count; reverts when it is given 32 bytes */
const CODE = assemble("CALLDATASIZE 32 EQ 25 JUMPI 0 SLOAD 1 ADD DUP1 0 SSTORE 0 MSTORE 32 0 RETURN JUMPDEST 0 0 REVERT");
const EMPTY_ROOT = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";
const word = (value: number): Hex => `0x${value.toString(16).padStart(64, "0")}`;
type Json = Record<string, unknown>;

describe.each(["R", "G"] as const)("methods beyond the standard, profile %s", (profile) => {
  let node: TestClient;
  let described: RpcClient;
  let counter: Hex;
  const sent: Hex[] = [];
  const rpc = <T>(method: string, ...params: unknown[]): Promise<T> => described.call<T>(method, params);
  const send = async (fields: object): Promise<Hex> => {
    const raw = await account.signTransaction({ chainId: CHAIN_ID, gas: 200_000n, nonce: sent.length, ...FEES, ...fields });
    const hash = await node.rpc.call<Hex>("eth_sendRawTransaction", [raw]);
    sent.push(hash);
    return hash;
  };

  beforeAll(async () => {
    const alloc = { [CODELESS]: { balance: "0x1", storage: { [word(1)]: word(5), [word(2)]: word(0x1234) } } };
    node = await startTestClient([`--profile=${profile}`, "--http.api=eth,debug,admin,net"], undefined, { alloc });
    described = holdingToDescription(node.rpc);
    const creation = await send({ data: bytesToHex(deployerOf(CODE)) });
    await node.buildBlock();
    counter = (await rpc<{ contractAddress: Hex }>("eth_getTransactionReceipt", creation)).contractAddress;
    for (let calls = 0; calls < 3; calls++) await send({ to: counter });
    await node.buildBlock();
    const forced = encodeTransaction(deposit({ sourceHash: new Uint8Array(32).fill(0x77), from: hexToBytes(OTHER), mint: 9n }));
    await node.buildBlock({ transactions: [bytesToHex(forced)] });
    await send({ to: counter });
  });
  afterAll(() => node.remove());

  it("accounts as a whole", async () => {
    const { storageHash, codeHash } = await rpc<Json>("eth_getProof", counter, [], "latest");
    expect(codeHash).toBe(bytesToHex(keccak256(CODE)));
    expect(await rpc("eth_getAccount", counter, "latest")).toEqual({
      nonce: "0x1",
      balance: "0x0",
      storageRoot: storageHash,
      codeHash,
    });
    expect(await rpc("eth_getAccount", counter, "0x0")).toBe(null);
    expect(await rpc("eth_getAccountInfo", counter, "latest")).toEqual({ nonce: "0x1", balance: "0x0", code: bytesToHex(CODE) });
    expect(await rpc("eth_getAccountInfo", UNKNOWN, "latest")).toEqual({ nonce: "0x0", balance: "0x0", code: "0x" });
    expect(await rpc("eth_pendingTransactions")).toEqual([]);
  });

  it("transactions by sender and nonce: mined, in the pool, of deposits, none", async () => {
    for (const [nonce, hash] of sent.entries()) {
      const found = await rpc<Json>("eth_getTransactionBySenderAndNonce", RICH_ADDRESS, toQuantity(nonce));
      expect(found).toEqual(await rpc("eth_getTransactionByHash", hash));
      expect(found.blockNumber === null || found.blockNumber === undefined).toBe(nonce === sent.length - 1);
    }
    expect(await rpc("eth_getTransactionBySenderAndNonce", RICH_ADDRESS, toQuantity(sent.length))).toBe(null);
    expect(await rpc("eth_getTransactionBySenderAndNonce", UNKNOWN, "0x0")).toBe(null);
    expect(await rpc("eth_getTransactionBySenderAndNonce", OTHER, "0x0")).toMatchObject({
      type: "0x7e",
      from: OTHER,
      blockNumber: "0x3",
    });
  });

  it("eth_callMany: one call after another, with overrides, between the transactions of a block", async () => {
    const call = { from: RICH_ADDRESS, to: counter };
    const failing = { ...call, data: word(0) };
    const block = { blockNumber: "latest" };
    expect(await rpc("eth_callMany", [{ transactions: [call, failing, call] }, { transactions: [call] }], block)).toEqual([
      [{ value: word(4) }, { error: "execution reverted" }, { value: word(5) }],
      [{ value: word(6) }],
    ]);
    for (const [transactionIndex, expected] of [
      [-1, 4],
      [4, 4],
      [3, 3],
      [1, 1],
    ]) {
      const context = { blockNumber: "0x2", transactionIndex };
      expect(await rpc("eth_callMany", [{ transactions: [call] }], context)).toEqual([[{ value: word(expected!) }]]);
    }
    const number = bytesToHex(assemble("NUMBER 0 MSTORE 32 0 RETURN"));
    const bundles = [
      { transactions: [{ to: OTHER }], blockOverride: { number: "0x64" } },
      { transactions: [{ to: OTHER }, { from: UNKNOWN, to: OTHER, value: "0x1" }] },
    ];
    expect(await rpc("eth_callMany", bundles, null, { [OTHER]: { code: number } })).toEqual([
      [{ value: word(100) }],
      [{ value: word(3) }, { error: expect.stringMatching(/insufficient funds/) }],
    ]);
    await expect(rpc("eth_callMany", [], { blockNumber: "0x2", transactionIndex: 9 })).rejects.toMatchObject({ code: -32602 });
    await expect(rpc("eth_callMany", [], { blockNumber: "0x2", transactionIndex: -2 })).rejects.toMatchObject({ code: -32602 });
    await expect(rpc("eth_callMany", [], { blockNumber: "0x99" })).rejects.toMatchObject({
      code: profile === "R" ? -32001 : -32000,
    });
    expect(await rpc("eth_callMany", [])).toEqual([]);
  });

  it("debug_traceCallMany traces the same calls", async () => {
    const call = { from: RICH_ADDRESS, to: counter };
    const traces = await rpc<Json[][]>(
      "debug_traceCallMany",
      [{ transactions: [call, call] }],
      { blockNumber: "latest" },
      { tracer: "callTracer" },
    );
    expect(traces.map((own) => own.map(({ output }) => output))).toEqual([[word(4), word(5)]]);
    const options = { stateOverrides: { [counter]: { stateDiff: { [word(0)]: word(40) } } } };
    const [[logged]] = await rpc<[[Json]]>("debug_traceCallMany", [{ transactions: [call] }], null, options);
    expect(logged).toMatchObject({ failed: false, returnValue: word(41) });
  });

  it("debug_intermediateRoots ends with the block's own state root, but for what follows the transactions", async () => {
    const { hash, transactions, stateRoot } = await rpc<{ hash: Hex; transactions: Hex[]; stateRoot: Hex }>(
      "eth_getBlockByNumber",
      "0x2",
      false,
    );
    const roots = await rpc<Hex[]>("debug_intermediateRoots", hash);
    expect(roots).toHaveLength(transactions.length);
    expect(new Set(roots).size).toBe(roots.length);
    expect(roots.at(-1)).toBe(stateRoot);
    const { hash: genesis } = await rpc<{ hash: Hex }>("eth_getBlockByNumber", "0x0", false);
    await expect(rpc("debug_intermediateRoots", genesis)).rejects.toMatchObject({
      message: profile === "R" ? `block not found: hash 0x${"0".repeat(64)}` : "genesis is not traceable",
    });
  });

  it("debug_accountRange pages through the state, debug_dumpBlock has it all", async () => {
    const { stateRoot } = await rpc<{ stateRoot: Hex }>("eth_getBlockByNumber", "latest", false);
    const all = await rpc<{ root: Hex; accounts: Record<string, Json> }>("debug_dumpBlock", "latest");
    expect(all.root).toBe(profile === "R" ? stateRoot : stateRoot.slice(2));
    const key = bytesToHex(keccak256(hexToBytes(counter)));
    const { codeHash } = await rpc<Json>("eth_getAccount", counter);
    expect(all.accounts[`pre(${key})`]).toMatchObject({
      balance: "0",
      nonce: 1,
      codeHash,
      code: bytesToHex(CODE),
      storage: { [bytesToHex(keccak256(new Uint8Array(32)))]: "03" },
      key,
    });
    const rich = all.accounts[`pre(${bytesToHex(keccak256(hexToBytes(RICH_ADDRESS)))})`]!;
    expect(BigInt(rich.balance as string)).toBe(BigInt(await rpc<Hex>("eth_getBalance", RICH_ADDRESS, "latest")));
    expect(rich).toMatchObject({ root: EMPTY_ROOT });
    const codeless = all.accounts[`pre(${bytesToHex(keccak256(hexToBytes(CODELESS)))})`]!;
    const hashOf = (slot: number): Hex => bytesToHex(keccak256(hexToBytes(word(slot))));
    expect(codeless.storage).toEqual({ [hashOf(1)]: "05", [hashOf(2)]: "1234" });
    expect(codeless).not.toHaveProperty("code");
    const paged: Record<string, Json> = {};
    let pages = 0;
    for (let start: Hex | undefined = "0x"; start !== undefined; pages++) {
      const page: { accounts: Record<string, Json>; next?: Hex } = await rpc(
        "debug_accountRange",
        "latest",
        start,
        2,
        false,
        false,
        true,
      );
      Object.assign(paged, page.accounts);
      start = page.next;
    }
    expect(paged).toEqual(all.accounts);
    expect(pages).toBe(Math.ceil(Object.keys(paged).length / 2));
    const bare = await rpc<{ accounts: Record<string, Json> }>("debug_accountRange", "latest", key, 1, true, true, true);
    expect(Object.values(bare.accounts)).toEqual([expect.not.objectContaining({ code: expect.anything() })]);
    // Not asked for accounts whose addresses it does not know, Geth leaves them out.
    const known = await rpc<{ accounts: Record<string, Json> }>("debug_accountRange", "latest", "0x", 2, false, false, false);
    expect(Object.keys(known.accounts)).toHaveLength(profile === "R" ? 2 : 0);
  });

  it("codes by their hash, raw transactions of a block, the chain's configuration", async () => {
    const hash = bytesToHex(keccak256(CODE));
    expect(await rpc("debug_codeByHash", hash)).toBe(bytesToHex(CODE));
    expect(await rpc("debug_codeByHash", word(1))).toBe(null);
    expect(await rpc("debug_dbGet", `0x63${hash.slice(2)}`)).toBe(bytesToHex(CODE));
    expect(await rpc("debug_dbGet", hash)).toBe(bytesToHex(CODE));
    expect(await rpc("debug_dbGet", `0x63${word(1).slice(2)}`)).toBe(null);
    for (const key of [word(1), `0x64${hash.slice(2)}`, "0x63", "0x"]) {
      await expect(rpc("debug_dbGet", key)).rejects.toMatchObject({
        code: -32602,
        ...(profile === "G" && { message: expect.stringMatching(/only codes/) }),
      });
    }
    const { transactions } = await rpc<{ transactions: Hex[] }>("eth_getBlockByNumber", "0x2", false);
    const raws = await rpc<Hex[]>("debug_getRawTransactions", "0x2");
    expect(raws.map((raw) => bytesToHex(keccak256(hexToBytes(raw))))).toEqual(transactions);
    expect(await rpc("debug_chainConfig")).toMatchObject({ chainId: CHAIN_ID, jovianTime: 0, optimism: GENESIS.config.optimism });
  });

  it("refuses what another layer decides, saying which", async () => {
    await expect(rpc("debug_setHead", "0x1")).rejects.toMatchObject({ code: -32601 });
    await expect(rpc("admin_addPeer", "enode://00@1.2.3.4:30303")).rejects.toMatchObject({
      code: -32000,
      message: expect.stringMatching(/no part in the network/),
    });
    expect(await rpc("admin_peers")).toEqual([]);
    expect(await rpc("net_peerCount")).toBe("0x0");
    expect(await rpc("net_listening")).toBe(false);
    const { hash: head } = await rpc<{ hash: Hex }>("eth_getBlockByNumber", "latest", false);
    const info = await rpc<{ enode: string; enr: string }>("admin_nodeInfo");
    expect(info).toMatchObject({ ports: { listener: 0, discovery: 0 }, protocols: { eth: { network: CHAIN_ID, head } } });
    const record = Buffer.from(info.enr.slice("enr:".length), "base64url");
    expect(forkIdOfRecord(record).hash).toHaveLength(4);
    expect(record.toString("hex")).toContain(info.enode.slice("enode://".length, "enode://".length + 64)); // x of the key
    expect(await rpc("admin_nodeInfo")).toMatchObject({ enode: info.enode });
  });
});
