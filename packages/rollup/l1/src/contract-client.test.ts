import { RpcError } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { encodeCall, L1ContractClient } from "./contract-client.ts";
import { L1Endpoints } from "./endpoints/endpoints.ts";
import { FakeClock, FakeEndpoint } from "./testing/fake-endpoint.ts";

const TO = new Uint8Array(20).fill(0x11);
const WORD = `${"00".repeat(31)}2a`;

function setUp(answers: readonly ((method: string, params: readonly unknown[]) => unknown)[]) {
  const fakes = answers.map((override) => {
    const fake = new FakeEndpoint([]);
    fake.override = override;
    return fake;
  });
  const endpoints = new L1Endpoints(
    { maxAttempts: answers.length },
    {
      endpoints: fakes.map((rpc, index) => ({ name: `endpoint-${index}`, rpc })),
      clock: new FakeClock(),
      log: { warn: () => {}, debug: () => {} },
    },
  );
  return new L1ContractClient(endpoints);
}

/** Answers contract calls; everything else is left to the endpoint. */
const calls = (answer: (params: readonly unknown[]) => unknown) => (method: string, params: readonly unknown[]) =>
  method === "eth_call" ? answer(params) : undefined;
const failing = (code: number, message: string) =>
  calls(() => {
    throw new RpcError(code, message);
  });

describe("encodeCall", () => {
  it("is the selector and the words", () => {
    // transfer(address,uint256), as every explorer shows it
    expect(bytesToHex(encodeCall("transfer(address,uint256)", [TO, 42n]))).toBe(
      `0xa9059cbb${"00".repeat(12)}${"11".repeat(20)}${WORD}`,
    );
  });
});

describe("L1ContractClient", () => {
  it("reads the words of an answer, and none where there is no contract", async () => {
    const asked: unknown[] = [];
    const client = setUp([
      calls((params) => {
        asked.push(params);
        return asked.length === 1 ? `0x${WORD}${WORD}` : "0x";
      }),
    ]);
    const answer = await client.read(TO, "version()");
    expect(answer.kind === "words" && answer.words.map((word) => word[31])).toEqual([42, 42]);
    expect(asked).toEqual([[{ to: bytesToHex(TO), data: bytesToHex(encodeCall("version()", [])) }, "latest"]]);
    expect(await client.read(TO, "version()")).toEqual({ kind: "words", words: [] });
  });

  it("simulates a transaction with its sender and value", async () => {
    let asked: readonly unknown[] = [];
    const client = setUp([
      calls((params) => {
        asked = params;
        return "0x";
      }),
    ]);
    expect(await client.simulate({ to: TO, data: new Uint8Array(0), from: TO, valueWei: 5n })).toEqual({
      kind: "words",
      words: [],
    });
    expect(asked).toEqual([{ to: bytesToHex(TO), from: bytesToHex(TO), data: "0x", value: "0x5" }, "latest"]);
  });

  it.each([
    ["Geth's and Reth's revert", 3, "execution reverted: L2OutputOracle: too early"],
    ["a revert with another code", -32000, "execution reverted"],
    ["an invalid opcode", -32000, "invalid opcode: INVALID"],
  ])("takes %s for the contract's answer", async (_, code, message) => {
    const client = setUp([failing(code, message)]);
    expect(await client.read(TO, "version()")).toEqual({ kind: "reverted", message });
    expect(await client.simulate({ to: TO, data: new Uint8Array(0) })).toEqual({ kind: "reverted", message });
  });

  it.each([
    ["an error that is no revert", failing(-32005, "limit exceeded")],
    ["half a word", calls(() => "0x00")],
    ["no hex", calls(() => "forty-two")],
    ["more words than any contract has", calls(() => `0x${"00".repeat(32 * 5000)}`)],
  ])("asks the next endpoint after %s", async (_, bad) => {
    const client = setUp([bad, calls(() => `0x${WORD}`)]);
    expect(await client.read(TO, "version()")).toMatchObject({ kind: "words" });
  });
});
