import { isDeepStrictEqual } from "node:util";
import { RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { liesAbout } from "@rnode/jsonrpc/testing";
import { bytesToHex, EMPTY_REQUESTS_HASH, type Hex, isCodedError } from "@rnode/primitives";
import {
  type ExecutionPayload,
  type ForkTimes,
  hashHeader,
  type PayloadAttributes,
  payloadToHeader,
  payloadToJson,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { describe, expect, it } from "vitest";
import { EngineClient } from "./engine-client.ts";
import { forkchoiceVersion, getPayloadVersion, newPayloadVersion } from "./engine-versions.ts";

const FORKS: ForkTimes = {
  regolith: 0,
  canyon: 100,
  delta: 100,
  ecotone: 200,
  fjord: 200,
  granite: 200,
  holocene: 300,
  isthmus: 400,
  jovian: 500,
  karst: 600,
};
const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);
const STATE = { head: bytesToHex(filled(32, 1)), safe: bytesToHex(filled(32, 2)), finalized: bytesToHex(filled(32, 3)) };
const ID: Hex = "0x0301020304050607";

const attributes = (timestamp: number): PayloadAttributes => ({
  timestamp,
  prevRandao: filled(32, 4),
  suggestedFeeRecipient: filled(20, 5),
  transactions: [Uint8Array.of(0x7e, 1)],
  noTxPool: true,
  gasLimit: 30_000_000n,
});

const payload = (timestamp: number): ExecutionPayload => ({
  parentHash: filled(32, 1),
  feeRecipient: filled(20, 2),
  stateRoot: filled(32, 3),
  receiptsRoot: filled(32, 4),
  logsBloom: filled(256, 0),
  prevRandao: filled(32, 5),
  blockNumber: 7,
  gasLimit: 30_000_000n,
  gasUsed: 21_000n,
  timestamp,
  extraData: filled(9, 0),
  baseFeePerGas: 1_000_000_000n,
  blockHash: filled(32, 6),
  transactions: [Uint8Array.of(0x7e, 1)],
  withdrawals: [],
});

function client(answer: (method: string, params: readonly unknown[]) => unknown) {
  const calls: { method: string; params: readonly unknown[] }[] = [];
  const rpc = {
    call: async (method: string, params: readonly unknown[]): Promise<unknown> => {
      calls.push({ method, params });
      return answer(method, params);
    },
  };
  return { engine: new EngineClient(rpc, FORKS), calls };
}

const status = (name: string, more: object = {}) => ({ status: name, latestValidHash: null, validationError: null, ...more });
const raise = (error: Error) => (): never => {
  throw error;
};

describe("versions of Engine API methods", () => {
  it.each([
    // timestamp, forkchoice with attributes, getPayload, newPayload
    [50, 1, 2, 2],
    [99, 1, 2, 2],
    [100, 2, 2, 2],
    [199, 2, 2, 2],
    [200, 3, 3, 3],
    [399, 3, 3, 3],
    [400, 3, 4, 4],
    [599, 3, 4, 4],
    [600, 3, 5, 4],
  ])("at %i", (timestamp, forkchoice, get, insert) => {
    expect(forkchoiceVersion(FORKS, timestamp)).toBe(forkchoice);
    expect(getPayloadVersion(FORKS, timestamp)).toBe(get);
    expect(newPayloadVersion(FORKS, timestamp)).toBe(insert);
  });

  it("is 3 without attributes at any time", () => {
    expect(forkchoiceVersion(FORKS, undefined)).toBe(3);
  });
});

describe("EngineClient.forkchoiceUpdated", () => {
  it("sends the heads and null, or the attributes", async () => {
    const { engine, calls } = client(() => ({ payloadStatus: status("VALID"), payloadId: calls.length === 1 ? null : ID }));
    expect(await engine.forkchoiceUpdated(STATE)).toEqual({ kind: "valid", payloadId: undefined });
    expect(await engine.forkchoiceUpdated(STATE, attributes(450))).toEqual({ kind: "valid", payloadId: ID });
    expect(calls[0]).toEqual({
      method: "engine_forkchoiceUpdatedV3",
      params: [{ headBlockHash: STATE.head, safeBlockHash: STATE.safe, finalizedBlockHash: STATE.finalized }, null],
    });
    expect(calls[1]?.params[1]).toMatchObject({
      timestamp: "0x1c2",
      noTxPool: true,
      gasLimit: "0x1c9c380",
      transactions: ["0x7e01"],
    });
  });

  it.each([
    [{ payloadStatus: status("SYNCING"), payloadId: null }, { kind: "syncing" }],
    [{ payloadStatus: status("ACCEPTED"), payloadId: null }, { kind: "syncing" }],
    [
      { payloadStatus: status("INVALID", { latestValidHash: STATE.safe, validationError: "why" }), payloadId: null },
      { kind: "invalid", latestValidHash: STATE.safe, reason: "why" },
    ],
    [
      { payloadStatus: status("INVALID_BLOCK_HASH") },
      { kind: "invalid", latestValidHash: undefined, reason: "INVALID_BLOCK_HASH" },
    ],
  ])("reads %j", async (answer, outcome) => {
    expect(await client(() => answer).engine.forkchoiceUpdated(STATE)).toEqual(outcome);
  });

  it.each([
    [-38002, { kind: "invalid-state", reason: "no" }],
    [-38003, { kind: "invalid-attributes", reason: "no" }],
    [-38001, { kind: "refused", engineCode: -38001, reason: "no" }],
    [-38005, { kind: "refused", engineCode: -38005, reason: "no" }],
  ])("turns code %i into an outcome", async (code, outcome) => {
    expect(await client(raise(new RpcError(code, "no"))).engine.forkchoiceUpdated(STATE, attributes(1))).toEqual(outcome);
  });

  it.each([
    [new RpcError(-32602, "bad params"), "engine/rpc-error"],
    [new RpcError(-32000, "internal"), "engine/rpc-error"],
    [new RpcTransportError("rpc/timeout", {}), "engine/unavailable"],
    [new RpcTransportError("rpc/http-status", { status: 401, body: "token is expired" }), "engine/unauthorized"],
    [new RpcTransportError("rpc/http-status", { status: 502, body: "" }), "engine/unavailable"],
  ])("rejects with a code for %s", async (error, code) => {
    const caught = await client(raise(error))
      .engine.forkchoiceUpdated(STATE)
      .catch((e: unknown) => e);
    expect(isCodedError(caught, code)).toBe(true);
  });

  it.each([
    [null],
    ["VALID"],
    [{ payloadStatus: null }],
    [{ payloadStatus: {} }],
    [{ payloadStatus: status("MAYBE") }],
    [{ payloadStatus: status("VALID"), payloadId: "0x12" }],
  ])("does not take %j for an answer", async (answer) => {
    await expect(client(() => answer).engine.forkchoiceUpdated(STATE)).rejects.toThrow(
      expect.objectContaining({ code: "engine/bad-answer" }),
    );
  });

  it("lets mistakes of the program through", async () => {
    await expect(client(raise(new TypeError("bug"))).engine.forkchoiceUpdated(STATE)).rejects.toThrow(TypeError);
  });
});

describe("EngineClient.getPayload", () => {
  const parentBeaconBlockRoot = filled(32, 9);
  const unhashed = { ...payload(450), blobGasUsed: 0n, excessBlobGas: 0n, withdrawalsRoot: filled(32, 8) };
  const header = payloadToHeader({ executionPayload: unhashed, parentBeaconBlockRoot }, EMPTY_REQUESTS_HASH, orderedTrieRoot);
  const sealed = { ...unhashed, blockHash: hashHeader(header) };
  const answer = {
    executionPayload: payloadToJson(sealed),
    blockValue: "0x10",
    parentBeaconBlockRoot: bytesToHex(parentBeaconBlockRoot),
  };

  it("reads payload, value and beacon root", async () => {
    const { engine, calls } = client(() => answer);
    const outcome = await engine.getPayload(ID, 450);
    if (outcome.kind !== "payload") throw new Error(outcome.kind);
    const { envelope, valueWei } = outcome;
    expect({ ...envelope, valueWei }).toEqual({ executionPayload: sealed, parentBeaconBlockRoot, valueWei: 16n });
    expect(calls).toEqual([{ method: "engine_getPayloadV4", params: [ID] }]);
  });

  it("never takes a payload that was changed anywhere", async () => {
    const lies = liesAbout(answer);
    let refused = 0;
    for (const lie of lies) {
      try {
        const outcome = await client(() => lie.answer).engine.getPayload(ID, 450);
        if (outcome.kind !== "payload" || !isDeepStrictEqual(outcome.envelope.executionPayload, sealed)) expect.fail(lie.name);
      } catch (error) {
        if (!isCodedError(error, "engine/bad-answer")) throw error;
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(lies.length - 20); // the others lie about nothing but the block's value, which changes nothing
  });

  it("counts every refusal as expired, but not a lost connection", async () => {
    expect(await client(raise(new RpcError(-38001, "Unknown payload"))).engine.getPayload(ID, 450)).toMatchObject({
      kind: "expired",
    });
    expect(await client(raise(new RpcError(-32000, "failed"))).engine.getPayload(ID, 450)).toMatchObject({ kind: "expired" });
    await expect(client(raise(new RpcTransportError("rpc/unreachable", {}))).engine.getPayload(ID, 450)).rejects.toThrow(
      expect.objectContaining({ code: "engine/unavailable" }),
    );
    await expect(client(() => ({ executionPayload: { blockNumber: "7" } })).engine.getPayload(ID, 450)).rejects.toThrow(
      expect.objectContaining({ code: "engine/bad-answer" }),
    );
  });
});

describe("EngineClient.newPayload", () => {
  it.each([
    [150, "engine_newPayloadV2", 1],
    [250, "engine_newPayloadV3", 3],
    [450, "engine_newPayloadV4", 4],
  ])("sends what the version at %i takes", async (timestamp, method, parameterCount) => {
    const { engine, calls } = client(() => status("VALID"));
    const envelope = { executionPayload: payload(timestamp), parentBeaconBlockRoot: filled(32, 9) };
    expect(await engine.newPayload(envelope)).toEqual({ kind: "valid" });
    expect(calls[0]?.method).toBe(method);
    expect(calls[0]?.params).toEqual(
      [payloadToJson(envelope.executionPayload), [], bytesToHex(filled(32, 9)), []].slice(0, parameterCount),
    );
  });

  it.each([
    [status("SYNCING"), { kind: "syncing" }],
    [status("ACCEPTED"), { kind: "syncing" }],
    [status("INVALID", { validationError: "why" }), { kind: "invalid", latestValidHash: undefined, reason: "why" }],
  ])("reads %j", async (answer, outcome) => {
    expect(await client(() => answer).engine.newPayload({ executionPayload: payload(450) })).toEqual(outcome);
  });

  it("rejects when the engine fails", async () => {
    await expect(client(raise(new RpcError(-32000, "x"))).engine.newPayload({ executionPayload: payload(450) })).rejects.toThrow(
      expect.objectContaining({ code: "engine/rpc-error" }),
    );
  });
});

describe("EngineClient.knows", () => {
  it.each<[string, Error, boolean]>([
    ["a missing parameter", new RpcError(-32602, "missing value for required argument 0"), true],
    ["a code of the Engine API", new RpcError(-38001, "Unknown payload"), true],
    ["an unknown method", new RpcError(-32601, "Method not found"), false],
    ["a namespace that is not served", new RpcError(-32600, "the method engine_x does not exist/is not available"), false],
  ])("takes %s as its answer", async (_, error, isKnown) => {
    expect(await client(raise(error)).engine.knows("engine_forkchoiceUpdatedV3")).toBe(isKnown);
  });
});

describe("EngineClient.capabilities", () => {
  it("is empty when the method is unknown", async () => {
    expect(await client(() => ["engine_newPayloadV4"]).engine.capabilities()).toEqual(["engine_newPayloadV4"]);
    expect(await client(raise(new RpcError(-32601, "x"))).engine.capabilities()).toBeUndefined();
  });
});
