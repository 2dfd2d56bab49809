import { RpcError } from "@rnode/jsonrpc";
import { liesAbout } from "@rnode/jsonrpc/testing";
import { bytesToHex, EMPTY_OMMERS_HASH, EMPTY_REQUESTS_HASH, type Hex, hexToBytes, isCodedError } from "@rnode/primitives";
import { encodeHeader, forksUpTo, type Header, hashHeader, type PayloadAttributes } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { describe, expect, it } from "vitest";
import { EngineClient } from "./engine-client.ts";

const METHOD = "engine_rnodeBuildBlocksV1";
const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);
const STATE = { head: bytesToHex(filled(32, 1)), safe: bytesToHex(filled(32, 2)), finalized: bytesToHex(filled(32, 3)) };
const VALID = { status: "VALID", latestValidHash: STATE.head, validationError: null };

const attributesOf = (index: number): PayloadAttributes => ({
  timestamp: 1000 + 2 * index,
  prevRandao: filled(32, 4),
  suggestedFeeRecipient: filled(20, 5),
  withdrawals: [],
  parentBeaconBlockRoot: filled(32, 6),
  transactions: [Uint8Array.of(0x7e, index)],
  noTxPool: true,
  gasLimit: 30_000_000n,
  eip1559Params: new Uint8Array(8),
  minBaseFee: 0n,
});

function headerOf(parentHash: Hex, index: number): Header {
  const { timestamp, prevRandao, suggestedFeeRecipient, parentBeaconBlockRoot, transactions = [], gasLimit } = attributesOf(index);
  return {
    parentHash: hexToBytes(parentHash),
    ommersHash: EMPTY_OMMERS_HASH,
    beneficiary: suggestedFeeRecipient,
    stateRoot: filled(32, 7),
    transactionsRoot: orderedTrieRoot(transactions),
    receiptsRoot: filled(32, 8),
    logsBloom: filled(256, 0),
    difficulty: 0n,
    number: 8 + index,
    gasLimit: gasLimit!,
    gasUsed: 21_000n,
    timestamp,
    extraData: filled(17, 1),
    mixHash: prevRandao,
    nonce: filled(8, 0),
    baseFeePerGas: 7n,
    withdrawalsRoot: filled(32, 9),
    blobGasUsed: 0n,
    excessBlobGas: 0n,
    parentBeaconBlockRoot,
    requestsHash: EMPTY_REQUESTS_HASH,
  };
}

/** The headers of consecutive blocks on `STATE.head`. */
function headersOf(count: number): Header[] {
  const headers: Header[] = [];
  let parent: Hex = STATE.head;
  for (let index = 0; index < count; index++) {
    const header = headerOf(parent, index);
    headers.push(header);
    parent = bytesToHex(hashHeader(header));
  }
  return headers;
}
const encoded = (headers: readonly Header[]): Hex[] => headers.map((header) => bytesToHex(encodeHeader(header)));
const WANTED = [0, 1, 2].map(attributesOf);

function client(answer: () => unknown, { offered = true, usesExtensions = true } = {}) {
  const calls: string[] = [];
  const rpc = {
    call: async (method: string): Promise<unknown> => {
      calls.push(method);
      return method === "engine_exchangeCapabilities" ? ["engine_newPayloadV4", ...(offered ? [METHOD] : [])] : answer();
    },
  };
  return { engine: new EngineClient(rpc, forksUpTo("jovian"), { usesExtensions }), calls };
}

describe("EngineClient.buildBlocks", () => {
  it("gives the blocks with the transactions that were asked for", async () => {
    const headers = headersOf(2);
    const { engine, calls } = client(() => ({ payloadStatus: VALID, headers: encoded(headers), refusal: null }));
    const outcome = await engine.buildBlocks(STATE, WANTED);
    if (outcome.kind !== "built") throw new Error(outcome.kind);
    expect(outcome.refusal).toBeUndefined();
    expect(outcome.blocks.map(({ executionPayload }) => executionPayload)).toEqual(
      headers.map((header, index) =>
        expect.objectContaining({
          blockHash: hashHeader(header),
          blockNumber: 8 + index,
          transactions: WANTED[index]!.transactions,
          withdrawals: [],
          withdrawalsRoot: header.withdrawalsRoot,
        }),
      ),
    );
    await engine.buildBlocks(STATE, WANTED);
    expect(calls).toEqual(["engine_exchangeCapabilities", METHOD, METHOD]);
  });

  it("says why the engine rejects attributes", async () => {
    const refusal = { code: -38003, message: "transaction 1 is not valid" };
    const { engine } = client(() => ({ payloadStatus: VALID, headers: encoded(headersOf(1)), refusal }));
    expect(await engine.buildBlocks(STATE, WANTED)).toMatchObject({ kind: "built", blocks: [{}], refusal: refusal.message });
  });

  it("takes no other refusal for the end of the attributes", async () => {
    const { engine } = client(() => ({ payloadStatus: VALID, headers: [], refusal: { code: -32000, message: "disk full" } }));
    await expect(engine.buildBlocks(STATE, WANTED)).rejects.toMatchObject({ code: "engine/rpc-error" });
  });

  it.each([
    ["SYNCING", { kind: "syncing" }],
    ["INVALID", { kind: "invalid" }],
  ])("passes on %s", async (status, outcome) => {
    const { engine } = client(() => ({ payloadStatus: { ...VALID, status, latestValidHash: null }, headers: [], refusal: null }));
    expect(await engine.buildBlocks(STATE, WANTED)).toMatchObject(outcome);
  });

  it("passes on a refused fork choice", async () => {
    const { engine } = client(() => {
      throw new RpcError(-38002, "Invalid forkchoice state");
    });
    expect(await engine.buildBlocks(STATE, WANTED)).toMatchObject({ kind: "invalid-state" });
  });

  it("is not used where it is not offered, or not wanted", async () => {
    const without = client(() => null, { offered: false });
    expect(await without.engine.buildBlocks(STATE, WANTED)).toEqual({ kind: "unsupported" });
    const unwanted = client(() => null, { usesExtensions: false });
    expect(await unwanted.engine.buildBlocks(STATE, WANTED)).toEqual({ kind: "unsupported" });
    expect([without.calls, unwanted.calls]).toEqual([["engine_exchangeCapabilities"], []]);
  });

  it("asks again what is offered once the method is gone", async () => {
    const { engine, calls } = client(() => {
      throw new RpcError(-32601, "Method not found");
    });
    expect(await engine.buildBlocks(STATE, WANTED)).toEqual({ kind: "unsupported" });
    await engine.buildBlocks(STATE, WANTED);
    expect(calls).toEqual(["engine_exchangeCapabilities", METHOD, "engine_exchangeCapabilities", METHOD]);
  });

  it("never takes a block that was changed anywhere", async () => {
    const answer = { payloadStatus: VALID, headers: encoded(headersOf(2)), refusal: null };
    const [first, second] = headersOf(2).map((header) => bytesToHex(hashHeader(header)));
    for (const lie of liesAbout(answer)) {
      try {
        const outcome = await client(() => lie.answer).engine.buildBlocks(STATE, WANTED);
        if (outcome.kind !== "built") continue;
        const got = outcome.blocks.map(({ executionPayload }) => bytesToHex(executionPayload.blockHash));
        // fewer blocks are not a lie; a last block with another state is one that only executing it could find
        expect([first, second].slice(0, Math.max(0, got.length - 1)), lie.name).toEqual(got.slice(0, -1));
        for (const [index, { executionPayload }] of outcome.blocks.entries()) {
          expect(executionPayload.transactions, lie.name).toEqual(WANTED[index]!.transactions);
        }
      } catch (error) {
        if (!isCodedError(error, "engine/")) throw error;
      }
    }
  });

  it("takes no more blocks than were asked for, and none that are not a chain", async () => {
    const [zero, , two] = encoded(headersOf(3));
    for (const headers of [encoded(headersOf(3)), [zero, two]]) {
      const { engine } = client(() => ({ payloadStatus: VALID, headers, refusal: null }));
      await expect(engine.buildBlocks(STATE, WANTED.slice(0, 2))).rejects.toMatchObject({ code: "engine/bad-answer" });
    }
  });
});
