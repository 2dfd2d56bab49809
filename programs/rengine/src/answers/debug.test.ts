import { executeStateless, newEngine, parseBlockFile } from "@rnode/chain";
import { assemble, deposit, l1Info } from "@rnode/eth-api/testing";
import type { RpcClient } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes, keccak256, toQuantity } from "@rnode/primitives";
import {
  type Block,
  type DepositTransaction,
  decodeBlock,
  encodeBlock,
  encodeHeader,
  encodeTransaction,
  hashHeader,
  headerFromRpc,
} from "@rnode/protocol";
import { createWalletClient, defineChain, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { holdingToDescription } from "../testing/described-answers.ts";
import { CHAIN_ID, GENESIS_TIME_SEC, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";
import { CALLEE_CREATION } from "../testing/trace-scenarios.ts";

const chain = defineChain({
  id: CHAIN_ID,
  name: "test",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [] } },
});
const account = privateKeyToAccount(RICH_KEY);
const FEES = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n };
const POOR: Hex = `0x${"5a".repeat(20)}`;
const word = (value: number | bigint): Hex => `0x${value.toString(16).padStart(64, "0")}`;
const slotHash = (slot: number): Hex => bytesToHex(keccak256(hexToBytes(word(slot))));
const CALL_TRACER = { tracer: "callTracer", tracerConfig: { withLog: true } };

describe.each(["R", "G"] as const)("debug_ and trace_ with profile %s", (profile) => {
  let node: TestClient;
  let callee: Hex;
  let nonce = 0;
  /** the block that contains the deposits */
  let mixed: { readonly number: number; readonly hash: Hex; readonly transactions: Hex[] };
  let described: RpcClient;
  /** also checks every answer against `rpc.discover` */
  const rpc = <T>(method: string, ...params: unknown[]): Promise<T> => described.call<T>(method, params);
  const send = async (to: Hex | null, data: Hex, value = 0n): Promise<Hex> => {
    const wallet = createWalletClient({ account, chain, transport: http(node.httpUrl) });
    const signed = await wallet.signTransaction({ to, data, value, gas: 1_000_000n, nonce: nonce++, type: "eip1559", ...FEES });
    return rpc<Hex>("eth_sendRawTransaction", signed);
  };
  const depositOf = (item: number, fields: Partial<DepositTransaction>): Hex => {
    const sourceHash = new Uint8Array(32).fill(0x90 + item);
    return bytesToHex(encodeTransaction(deposit({ sourceHash, from: hexToBytes(POOR), gasLimit: 300_000n, ...fields })));
  };

  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`, "--http.api=eth,debug,trace,txpool,admin"]);
    described = holdingToDescription(node.rpc);
    const deployment = await send(null, CALLEE_CREATION);
    await node.buildBlock();
    callee = (await rpc<{ contractAddress: Hex }>("eth_getTransactionReceipt", deployment)).contractAddress;
    await send(callee, "0x00");
    const to = hexToBytes(callee);
    const deposits = [
      depositOf(0, { to, data: Uint8Array.of(0), mint: 5n }),
      depositOf(1, { to, data: Uint8Array.of(1) }), // reverts
      depositOf(2, { to, value: 1000n }), // more than the sender has: fails before it runs
      depositOf(3, { to: undefined, data: assemble("1 0 MSTORE8 1 0 RETURN"), mint: 7n, value: 3n }),
    ];
    const { number, hash } = await node.buildBlock({ transactions: deposits });
    mixed = { number, hash, transactions: deposits.map((raw) => bytesToHex(keccak256(hexToBytes(raw)))) };
    await send(callee, "0x0a"); // clears the value set by the previous transaction
    await send(null, bytesToHex(assemble("NUMBER 3 SWAP1 SUB BLOCKHASH 0 SSTORE 7 1 SSTORE STOP")));
    await node.buildBlock();
    await send(callee, "0x07");
    await node.buildBlock();
  });
  afterAll(() => node.remove());

  it("traces deposits: that run, revert, fail and create", async () => {
    const [ran, reverted, failed, created] = await Promise.all(
      mixed.transactions.map((hash) => rpc<Record<string, unknown>>("debug_traceTransaction", hash, CALL_TRACER)),
    );
    expect(ran).toMatchObject({ type: "CALL", from: POOR, to: callee, gas: "0x493e0", logs: [{ address: callee, index: "0x0" }] });
    expect(reverted).toMatchObject({ error: "execution reverted", revertReason: "nope" });
    expect(failed).toMatchObject({ from: POOR, to: callee, gas: "0x493e0", gasUsed: "0x493e0", value: "0x3e8", input: "0x" });
    expect(failed!.error).toBe(profile === "R" ? "FailedDeposit" : "failed deposit");
    expect(created).toMatchObject({ type: "CREATE", from: POOR, value: "0x3", output: "0x01" });
    for (const hash of mixed.transactions) {
      const { gasUsed } = await rpc<{ gasUsed: Hex }>("eth_getTransactionReceipt", hash);
      const { gas, structLogs } = await rpc<{ gas: number; structLogs: unknown[] }>("debug_traceTransaction", hash, null);
      expect(gas).toBe(Number(gasUsed));
      expect(structLogs.length === 0).toBe(hash === mixed.transactions[2]);
    }
    type Diff = { pre: Record<Hex, object>; post: Record<Hex, object> };
    const options = { tracer: "prestateTracer", tracerConfig: { diffMode: true } };
    const minted = await rpc<Diff>("debug_traceTransaction", mixed.transactions[0], options);
    expect(minted.pre[POOR]).toEqual(profile === "R" ? { balance: "0x0" } : undefined); // Geth omits empty accounts
    expect(minted.post[POOR]).toEqual({ balance: "0x5", nonce: 1 });
    expect(minted.post[callee]).toEqual({ storage: { [word(0)]: word(1) } });
    const ofFailed = await rpc<Diff>("debug_traceTransaction", mixed.transactions[2], options);
    expect(ofFailed.post).toEqual({ [POOR]: { nonce: 3 } });
  });

  it("traces a block by number, by hash and from its encoding alike, each transaction with its hash", async () => {
    const number = toQuantity(mixed.number);
    const byNumber = await rpc<{ txHash: Hex }[]>("debug_traceBlockByNumber", number, CALL_TRACER);
    const { transactions } = await rpc<{ transactions: Hex[] }>("eth_getBlockByNumber", number, false);
    expect(byNumber.map(({ txHash }) => txHash)).toEqual(transactions);
    expect(await rpc("debug_traceBlockByHash", mixed.hash, CALL_TRACER)).toEqual(byNumber);
    expect(await rpc("debug_traceBlock", await rpc<Hex>("debug_getRawBlock", number), CALL_TRACER)).toEqual(byNumber);
    await expect(rpc("debug_traceBlock", "0xc0")).rejects.toThrow(/could not decode block/);
    await expect(rpc("debug_traceBlockByNumber", "0x0")).rejects.toThrow(
      profile === "R" ? /^block not found: hash 0x0{64}$/ : "genesis is not traceable",
    );
  });

  it("limits the struct logger to what is asked for", async () => {
    type Result = { structLogs: Record<string, unknown>[]; returnValue: Hex };
    const call = { from: RICH_ADDRESS, to: callee, data: "0x08" };
    const trace = (options: object) => rpc<Result>("debug_traceCall", call, "latest", options);
    const all = await trace({
      stateOverrides: { [callee]: { code: bytesToHex(assemble("5 0 MSTORE 0 SLOAD 0 SSTORE 32 0 RETURN")) } },
    });
    expect(all.returnValue).toBe(word(5));
    expect(all.structLogs.map(({ op }) => op)).toEqual([
      "PUSH1",
      "PUSH1",
      "MSTORE",
      "PUSH1",
      "SLOAD",
      "PUSH1",
      "SSTORE",
      "PUSH1",
      "PUSH1",
      "RETURN",
    ]);
    const slot = (value: string) => (profile === "R" ? value : value.slice(2));
    expect(all.structLogs[4]).toEqual({
      pc: 7,
      op: "SLOAD",
      gas: expect.any(Number),
      gasCost: 2100,
      depth: 1,
      stack: ["0x0"],
      storage: { [slot(word(0))]: slot(word(2)) },
      ...(profile === "R" && { refund: 0 }),
    });
    const bare = await trace({ disableStack: true, disableStorage: true, limit: 3 });
    expect(bare.structLogs).toHaveLength(3);
    expect(Object.keys(bare.structLogs[2]!)).toEqual([
      "pc",
      "op",
      "gas",
      "gasCost",
      "depth",
      ...(profile === "R" ? ["refund"] : []),
    ]);
    expect(bare.structLogs[2]!.gasCost).toBe(2);
    const { structLogs } = await trace({ enableMemory: true, enableReturnData: true });
    expect(structLogs.at(-1)!.memory).toEqual([expect.stringMatching(profile === "R" ? /^0x[0-9a-f]{64}$/ : /^[0-9a-f]{64}$/)]);
  });

  it("overrides the block of a call", async () => {
    const code = bytesToHex(assemble("NUMBER 0 MSTORE TIMESTAMP 32 MSTORE 64 0 RETURN"));
    const { output } = await rpc<{ output: Hex }>("debug_traceCall", { to: POOR }, "latest", {
      ...CALL_TRACER,
      stateOverrides: { [POOR]: { code } },
      blockOverrides: { number: "0x1234", time: "0x99" },
    });
    expect(output).toBe(`${word(0x1234)}${word(0x99).slice(2)}`);
  });

  it("calls in the place of a transaction of the block", async () => {
    const code = bytesToHex(assemble("0 SLOAD 0 MSTORE 32 0 RETURN"));
    const at = async (txIndex?: unknown) => {
      const options = { tracer: "callTracer", stateOverrides: { [callee]: { code } }, blockOverrides: {}, txIndex };
      const { output } = await rpc<{ output: Hex }>("debug_traceCall", { to: callee }, toQuantity(mixed.number), options);
      return BigInt(output);
    };
    // The first deposit and the last transaction increment the counter.
    expect(await Promise.all([at("0x1"), at("0x2"), at(5), at()])).toEqual([0n, 1n, 1n, 2n]);
    for (const beyond of ["0x6", 99])
      await expect(at(beyond)).rejects.toMatchObject({ code: -32602, message: /^txIndex \d+ is not/ });
  });

  it("ends what takes too long, and goes on working", async () => {
    const code = bytesToHex(assemble("JUMPDEST 0 JUMP"));
    const endless = { stateOverrides: { [POOR]: { code } }, timeout: "1ms" };
    for (const tracer of ["callTracer", "prestateTracer", undefined]) {
      await expect(
        rpc("debug_traceCall", { to: POOR, gas: "0x2faf080" }, "latest", { ...endless, tracer, limit: 1 }),
      ).rejects.toMatchObject({
        message: "execution timeout",
        code: -32000,
      });
    }
    expect(await rpc("debug_traceCall", { to: POOR }, "latest", { tracer: "noopTracer" })).toEqual({});
    await expect(rpc("debug_traceCall", { to: POOR }, "latest", { timeout: "soon" })).rejects.toThrow(
      /invalid duration|Invalid params|invalid argument/i,
    );
  });

  it("lets others have their turn between the transactions of a block, and refuses traces that are too large", async () => {
    const small = await startTestClient([`--profile=${profile}`, "--http.api=eth,debug", "--rpc.max-response-size=1"]);
    const ask = <T>(method: string, ...params: unknown[]): Promise<T> => small.rpc.call<T>(method, params);
    try {
      const loop = assemble("10000 JUMPDEST 1 SWAP1 SUB DUP1 3 JUMPI STOP");
      const creations = Array.from({ length: 6 }, (_, i) =>
        depositOf(0x20 + i, { to: undefined, data: loop, gasLimit: 1_000_000n }),
      );
      await small.buildBlock({ transactions: creations });
      const answered: string[] = [];
      const traced = ask<{ result: { structLogs: unknown[] } }[]>("debug_traceBlockByNumber", "0x1", { limit: 10 });
      const noted = traced.then(() => answered.push("trace"));
      await Promise.all([1, 2, 3].map(() => ask("eth_blockNumber").then(() => answered.push("number"))));
      await noted;
      expect(answered).toEqual(["number", "number", "number", "trace"]);
      expect((await traced).slice(1).map(({ result }) => result.structLogs.length)).toEqual(new Array(6).fill(10));

      const withCode = (text: string) => ({ stateOverrides: { [POOR]: { code: bytesToHex(assemble(text)) } } });
      const call = { to: POOR, gas: "0x1c9c380" };
      await expect(ask("debug_traceCall", call, "latest", withCode("JUMPDEST 0 JUMP"))).rejects.toMatchObject({
        code: -32005,
        message: expect.stringMatching(/larger than 1048576 bytes \(--rpc.max-response-size\)/),
      });
      // Messages with much data: 64 KiB to the identity precompile, over and over.
      const copies = withCode("JUMPDEST 0 0 65536 0 0 4 GAS CALL POP 0 JUMP");
      const tooMany = ask("debug_traceCall", call, "latest", { ...copies, tracer: "callTracer" });
      await expect(tooMany).rejects.toMatchObject({ code: -32005 });
      expect(await ask("debug_traceCall", call, "latest", { tracer: "callTracer" })).toMatchObject({ type: "CALL" });
    } finally {
      await small.remove();
    }
  });

  it("knows several tracers at once, and refuses those it does not know", async () => {
    const call = { to: callee, data: "0x00112233aa" };
    const mux = { "4byteTracer": null, noopTracer: null, callTracer: { onlyTopCall: true } };
    expect(await rpc("debug_traceCall", call, "latest", { tracer: "muxTracer", tracerConfig: mux })).toMatchObject({
      "4byteTracer": { "0x00112233-1": 1 },
      noopTracer: {},
      callTracer: { type: "CALL", to: callee },
    });
    const unknown =
      profile === "R"
        ? {
            code: -32603,
            message: "JS Tracer is not enabled",
            data: expect.stringMatching(/^\{step: 1\}: only native tracers are run: callTracer, prestateTracer/),
          }
        : {
            code: -32000,
            message: expect.stringMatching(/JavaScript tracers are not run, only the native ones: callTracer, prestateTracer/),
          };
    await expect(rpc("debug_traceCall", call, "latest", { tracer: "{step: 1}" })).rejects.toMatchObject(unknown);
    const misconfigured = rpc("debug_traceCall", call, "latest", { tracer: "callTracer", tracerConfig: { withLog: 1 } });
    await expect(misconfigured).rejects.toMatchObject({
      code: profile === "R" ? -32602 : -32000,
      message: /invalid tracer config/,
    });
  });

  it("flatCallTracer is the profile's", async () => {
    const [, reverted] = mixed.transactions;
    const flat = (tracerConfig: object) =>
      rpc<Record<string, unknown>[]>("debug_traceTransaction", reverted, { tracer: "flatCallTracer", tracerConfig });
    const place = { blockHash: mixed.hash, blockNumber: mixed.number, transactionHash: reverted, type: "call", traceAddress: [] };
    expect(await flat({ convertParityErrors: true })).toMatchObject([{ ...place, error: "Reverted", subtraces: 0 }]);
    expect((await flat({}))[0]!.error).toBe(profile === "R" ? "Reverted" : "execution reverted");
  });

  it("gives witnesses that execute to the same block", async () => {
    const head = Number(await rpc<Hex>("eth_blockNumber"));
    expect(head).toBe(4);
    for (let number = 1; number <= head; number++) {
      const decoded = async (at: number): Promise<Block> =>
        decodeBlock(hexToBytes(await rpc<Hex>("debug_getRawBlock", toQuantity(at))));
      const { header, transactions } = await decoded(number);
      const { hash } = await rpc<{ hash: Hex }>("eth_getBlockByNumber", toQuantity(number), false);
      const witness = await rpc<{ headers: unknown[]; keys: Hex[] | null }>("debug_executionWitness", toQuantity(number));
      expect(await rpc("debug_executionWitnessByBlockHash", hash)).toEqual(witness);
      if (profile === "R") expect(witness.keys).toContain("0x4200000000000000000000000000000000000015");
      else expect(witness.keys).toBeNull();
      // the third block reads the hash of block 0
      expect(witness.headers).toHaveLength(number === 3 ? 3 : 1);
      const file = {
        chain: {
          chainId: CHAIN_ID,
          l1ChainId: 900,
          blockTime: 2,
          genesisTime: GENESIS_TIME_SEC,
          eip1559: { elasticity: 6, denominator: 50, denominatorCanyon: 250 },
          forkTimes: Object.fromEntries(
            ["regolith", "canyon", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian"].map((fork) => [fork, 0]),
          ),
        },
        parentHeaderRlp: await rpc<Hex>("debug_getRawHeader", toQuantity(number - 1)),
        payloadAttributes: {
          timestamp: toQuantity(header.timestamp),
          prevRandao: bytesToHex(header.mixHash),
          suggestedFeeRecipient: bytesToHex(header.beneficiary),
          withdrawals: [],
          parentBeaconBlockRoot: bytesToHex(header.parentBeaconBlockRoot!),
          transactions: transactions.map((tx) => bytesToHex(encodeTransaction(tx))),
          noTxPool: true,
          gasLimit: toQuantity(header.gasLimit),
          eip1559Params: "0x000000fa00000006",
          minBaseFee: 0,
        },
        // Geth has objects, the parent first
        witness: {
          ...witness,
          keys: [],
          ...(profile === "G" && {
            headers: witness.headers.map((json) => bytesToHex(encodeHeader(headerFromRpc(json)))).reverse(),
          }),
        },
        expectedBlockHash: hash,
      };
      const { executed, mismatches } = executeStateless(parseBlockFile(file), { engine: newEngine() });
      expect([bytesToHex(executed.hash), mismatches]).toEqual([hash, []]);
      const parentHash = bytesToHex(header.parentHash);
      if (profile === "R") expect(await rpc("debug_executePayload", parentHash, file.payloadAttributes)).toEqual(witness);
      else await expect(rpc("debug_executePayload", parentHash, file.payloadAttributes)).rejects.toMatchObject({ code: -32601 });
    }
  });

  it.runIf(profile === "R")("gives the witness of payload attributes that are no block yet", async () => {
    const { hash, timestamp } = await rpc<{ hash: Hex; timestamp: Hex }>("eth_getBlockByNumber", "latest", false);
    const signed = await account.signTransaction({
      chainId: CHAIN_ID,
      type: "eip1559",
      to: callee,
      data: "0x00",
      gas: 1_000_000n,
      nonce,
      ...FEES,
    });
    const info = bytesToHex(encodeTransaction({ ...l1Info("jovian"), sourceHash: new Uint8Array(32).fill(0x55) }));
    const attributes = {
      timestamp: toQuantity(Number(timestamp) + 2),
      prevRandao: word(0),
      suggestedFeeRecipient: POOR,
      withdrawals: [],
      parentBeaconBlockRoot: word(0),
      transactions: [info, signed],
      gasLimit: "0x1c9c380",
      eip1559Params: "0x000000fa00000006",
      minBaseFee: 0,
    };
    const witnessOf = (changes: object = {}, parent = hash) =>
      rpc<{ keys: Hex[]; state: Hex[] }>("debug_executePayload", parent, { ...attributes, ...changes });
    const whole = await witnessOf();
    expect(whole.keys).toEqual(expect.arrayContaining([callee, RICH_ADDRESS]));
    // Pool transactions are not a part of it, and a transaction that cannot be in the block is skipped.
    expect(await witnessOf({ noTxPool: false })).toEqual(whole);
    const unsigned = `${signed.slice(0, -64)}${"f".repeat(64)}`; // s is above the curve's order
    const skipping = await witnessOf({ transactions: [info, signed, signed, unsigned] });
    expect(new Set(skipping.keys)).toEqual(new Set(whole.keys));
    expect((await witnessOf({ transactions: [info] })).keys).not.toContain(callee);
    expect((await rpc<{ hash: Hex }>("eth_getBlockByNumber", "latest", false)).hash).toBe(hash);

    await expect(witnessOf({}, word(1))).rejects.toMatchObject({ code: -32001 });
    for (const wrong of [
      { timestamp },
      { eip1559Params: undefined },
      { transactions: [] },
      { transactions: [signed] },
      { transactions: [info, "0x02"] },
      { withdrawals: undefined },
      { gasLimit: undefined },
    ])
      await expect(witnessOf(wrong)).rejects.toMatchObject({ code: -32602 });
    // All of them at once have an answer.
    expect(await Promise.all(Array.from({ length: 8 }, () => witnessOf()))).toEqual(Array(8).fill(whole));
  });

  it("shows ranges of storage before each transaction", async () => {
    const at = (index: number, start = "0x", count: number | Hex = 10) =>
      rpc<{ storage: Record<Hex, { key: Hex | null; value: Hex }>; nextKey: Hex | null }>(
        ...(["debug_storageRangeAt", mixed.hash, index, callee, start, count] as const),
      );
    // L1 attributes, four deposits, and the pool's transaction
    expect(await at(1)).toEqual({ storage: {}, nextKey: null });
    expect(await at(2)).toEqual({ storage: { [slotHash(0)]: { key: word(0), value: word(1) } }, nextKey: null });
    expect((await at(6)).storage[slotHash(0)]!.value).toBe(word(2));
    const latest = await rpc<{ hash: Hex }>("eth_getBlockByNumber", "latest", false);
    const created = (await rpc<{ transactions: Hex[] }>("eth_getBlockByNumber", "0x3", false)).transactions[2];
    const { contractAddress } = await rpc<{ contractAddress: Hex }>("eth_getTransactionReceipt", created);
    const ordered = [slotHash(0), slotHash(1)].sort();
    const page = (start: Hex, count: number) =>
      rpc<{ storage: Record<Hex, object>; nextKey: Hex | null }>(
        "debug_storageRangeAt",
        latest.hash,
        0,
        contractAddress,
        start,
        count,
      );
    const first = await page("0x00", 1);
    expect([Object.keys(first.storage), first.nextKey]).toEqual([[ordered[0]], ordered[1]]);
    const second = await page(first.nextKey!, 1);
    expect([Object.keys(second.storage), second.nextKey]).toEqual([[ordered[1]], null]);
    await expect(at(99)).rejects.toThrow(/out of range/);
  });

  it("lists modified accounts", async () => {
    const one = await rpc<Hex[]>("debug_getModifiedAccountsByNumber", mixed.number);
    expect(one).toEqual(expect.arrayContaining([POOR, callee, RICH_ADDRESS]));
    expect(await rpc("debug_getModifiedAccountsByHash", mixed.hash)).toEqual(one);
    expect(await rpc("debug_getModifiedAccountsByNumber", mixed.number - 1, mixed.number)).toEqual(one);
    expect(await rpc<Hex[]>("debug_getModifiedAccountsByNumber", 3)).not.toContain(POOR);
    await expect(rpc("debug_getModifiedAccountsByNumber", 3, 2)).rejects.toThrow(/must be less than/);
  });

  it("keeps blocks that were invalid", async () => {
    expect(await rpc("debug_getBadBlocks")).toEqual([]);
    const { payload } = await node.buildBlock();
    const { executionPayload } = payload;
    const raw = await rpc<Hex>("debug_getRawBlock", executionPayload.blockNumber);
    const { header, ...body } = decodeBlock(hexToBytes(raw));
    const bad = { ...body, header: { ...header, stateRoot: new Uint8Array(32).fill(9) } };
    const hash = bytesToHex(hashHeader(bad.header));
    const refused = { ...executionPayload, stateRoot: bytesToHex(bad.header.stateRoot), blockHash: hash };
    const { status } = await node.engine.call<{ status: string }>("engine_newPayloadV4", [refused, [], word(0), []]);
    expect(status).toBe("INVALID");
    expect(await rpc("debug_getBadBlocks")).toMatchObject([
      { hash, rlp: bytesToHex(encodeBlock(bad)), reason: "state-root-mismatch", block: { hash, transactions: [{ type: "0x7e" }] } },
    ]);
  });

  if (profile === "G") {
    it("does not serve trace_", async () => {
      await expect(rpc("trace_block", "latest")).rejects.toMatchObject({ code: -32601 });
    });
    return;
  }

  it("trace_block, trace_transaction, trace_get and trace_filter agree", async () => {
    interface Trace {
      readonly transactionHash: Hex;
      readonly action: { readonly from: Hex; readonly to?: Hex };
    }
    const number = toQuantity(mixed.number);
    const block = await rpc<Trace[]>("trace_block", number);
    const { transactions } = await rpc<{ transactions: Hex[] }>("eth_getBlockByNumber", number, false);
    expect(block.map(({ transactionHash }) => transactionHash)).toEqual(transactions);
    for (const hash of transactions) {
      const own = block.filter((trace) => trace.transactionHash === hash);
      expect(await rpc("trace_transaction", hash)).toEqual(own);
      expect(await rpc("trace_get", hash, ["0x0"])).toEqual(own[0]);
      expect(await rpc("trace_get", hash, ["0x5"])).toBeNull();
    }
    expect(await rpc("trace_transaction", word(1))).toBeNull();
    const filter = (fields: object) => rpc<Trace[]>("trace_filter", { fromBlock: number, toBlock: number, ...fields });
    expect(await filter({})).toEqual(block);
    const fromPoor = block.filter(({ action }) => action.from === POOR);
    expect(fromPoor).toHaveLength(4);
    expect(await filter({ fromAddress: [POOR] })).toEqual(fromPoor);
    expect(await filter({ fromAddress: [POOR], toAddress: [callee], mode: "intersection" })).toEqual(fromPoor.slice(0, 3));
    expect(await filter({ fromAddress: [POOR], toAddress: [callee], after: 1, count: 2 })).toEqual(fromPoor.slice(1, 3));
    expect((await rpc<Trace[]>("trace_filter", { fromBlock: "0x0", toAddress: [POOR] })).length).toBe(0);
    await expect(rpc("trace_filter", { fromBlock: "0x3", toBlock: "0x1" })).rejects.toThrow(/cannot be greater/);
  });

  it("trace_transactionOpcodeGas and trace_blockOpcodeGas count what the struct logger lists", async () => {
    interface Counted {
      readonly transactionHash: Hex;
      readonly opcodeGas: { opcode: string; count: number; gasUsed: number }[];
    }
    const block = await rpc<{ blockHash: Hex; blockNumber: number; transactions: Counted[] }>(
      "trace_blockOpcodeGas",
      toQuantity(mixed.number),
    );
    expect(block).toMatchObject({ blockHash: mixed.hash, blockNumber: mixed.number });
    expect(block.transactions).toHaveLength(6);
    for (const counted of block.transactions) {
      const { transactionHash, opcodeGas } = counted;
      expect(await rpc("trace_transactionOpcodeGas", transactionHash)).toEqual(counted);
      const { structLogs } = await rpc<{ structLogs: { op: string; gasCost: number }[] }>(
        "debug_traceTransaction",
        transactionHash,
      );
      const expected = new Map<string, { count: number; gasUsed: number }>();
      for (const { op, gasCost } of structLogs) {
        const { count, gasUsed } = expected.get(op) ?? { count: 0, gasUsed: 0 };
        expected.set(op, { count: count + 1, gasUsed: gasUsed + gasCost });
      }
      expect(new Map(opcodeGas.map(({ opcode, ...use }) => [opcode, use]))).toEqual(expected);
    }
    expect(block.transactions.some(({ opcodeGas }) => opcodeGas.length > 5)).toBe(true);
    expect(await rpc("trace_transactionOpcodeGas", word(0xee))).toBeNull();
    await expect(rpc("trace_blockOpcodeGas", "0xffff")).rejects.toMatchObject({ code: -32001 });
  });

  it("trace_call, trace_callMany and trace_rawTransaction", async () => {
    interface Result {
      readonly output: Hex;
      readonly trace: { readonly action: object }[];
      readonly stateDiff: Record<Hex, { storage: object }> | null;
      readonly vmTrace: { readonly code: Hex; readonly ops: unknown[] } | null;
    }
    const call = { from: RICH_ADDRESS, to: callee, data: "0x00" };
    const result = await rpc<Result>("trace_call", call, ["stateDiff", "vmTrace"], "0x2");
    expect(result.trace).toEqual([]);
    expect(result.stateDiff![callee]).toEqual({
      balance: "=",
      code: "=",
      nonce: "=",
      storage: { [word(0)]: { "*": { from: word(2), to: word(3) } } },
    });
    expect(result.vmTrace!.code).toBe(await rpc("eth_getCode", callee, "0x2"));
    const [first, second] = await rpc<Result[]>(
      "trace_callMany",
      [
        [call, ["stateDiff"]],
        [call, ["stateDiff", "trace"]],
      ],
      "0x2",
    );
    expect(first!.stateDiff![callee]!.storage).toEqual({ [word(0)]: { "*": { from: word(2), to: word(3) } } });
    expect(second!.stateDiff![callee]!.storage).toEqual({ [word(0)]: { "*": { from: word(3), to: word(4) } } });
    expect(second!.trace).toMatchObject([{ action: { from: RICH_ADDRESS, to: callee, callType: "call" }, type: "call" }]);
    const wallet = createWalletClient({ account, chain, transport: http(node.httpUrl) });
    const nonceThen = Number(await rpc<Hex>("eth_getTransactionCount", RICH_ADDRESS, "0x2"));
    const raw = await wallet.signTransaction({
      to: callee,
      data: "0x01",
      gas: 100_000n,
      nonce: nonceThen,
      type: "eip1559",
      ...FEES,
    });
    expect(await rpc("trace_rawTransaction", raw, ["trace"], "0x2")).toMatchObject({
      trace: [{ error: "Reverted" }],
      vmTrace: null,
    });
    await expect(rpc("trace_rawTransaction", "0x02aa", ["trace"])).rejects.toMatchObject({ code: -32602 });
    const replayed = await rpc<{ transactionHash: Hex }[]>("trace_replayBlockTransactions", toQuantity(mixed.number), ["trace"]);
    expect(replayed).toHaveLength(6);
    for (const { transactionHash, ...rest } of replayed)
      expect(await rpc("trace_replayTransaction", transactionHash, ["trace"])).toEqual(rest);
  });
});
