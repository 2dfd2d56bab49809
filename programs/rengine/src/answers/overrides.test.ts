import { assemble } from "@rnode/eth-api/testing";
import { bytesToHex, type Hex, sha256 } from "@rnode/primitives";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RICH_ADDRESS, startTestClient, type TestClient } from "../testing/test-client.ts";

// State and block overrides in every method that accepts them.

const CALLED: Hex = `0x${"c1".repeat(20)}`;
const OTHER: Hex = `0x${"d2".repeat(20)}`;
const word = (digits: string): Hex => `0x${digits.padStart(64, "0")}`;
const code = (text: string): Hex => bytesToHex(assemble(text));
const RETURNED = "0 MSTORE 32 0 RETURN";
/** Code that reverts unless it reads the expected word. */
function strict(reads: string, expected: Hex): string {
  const test = `${expected} ${reads} SUB`;
  const revertAt = assemble(test).length + 4;
  return `${test} ${revertAt} JUMPI STOP JUMPDEST 0 0 REVERT`;
}

/** Overrides, the reads of the called contract, and the expected word. */
interface Case {
  readonly name: string;
  readonly reads: string;
  readonly state?: Readonly<Record<Hex, object>>;
  readonly block?: object;
  readonly expected: Hex;
  /** override of CALLED, besides its code */
  readonly own?: object;
}

const CASES: readonly Case[] = [
  { name: "balance", reads: `${OTHER} BALANCE`, state: { [OTHER]: { balance: "0x1234" } }, expected: word("1234") },
  { name: "own balance", reads: "SELFBALANCE", own: { balance: "0x55" }, expected: word("55") },
  { name: "code", reads: `${OTHER} EXTCODESIZE`, state: { [OTHER]: { code: "0x010203" } }, expected: word("3") },
  { name: "state", reads: "7 SLOAD", own: { state: { [word("7")]: word("8") } }, expected: word("8") },
  { name: "stateDiff", reads: "7 SLOAD", own: { stateDiff: { [word("7")]: word("9") } }, expected: word("9") },
  {
    name: "movePrecompileToAddress",
    reads: `32 0 0 0 ${OTHER} GAS STATICCALL POP 0 MLOAD`, // sha256, of nothing
    state: { "0x0000000000000000000000000000000000000002": { movePrecompileToAddress: OTHER } },
    expected: bytesToHex(sha256(new Uint8Array(0))),
  },
  { name: "number", reads: "NUMBER", block: { number: "0x99" }, expected: word("99") },
  { name: "time of 64 bits", reads: "TIMESTAMP", block: { time: "0xffffffffffffffff" }, expected: word("ffffffffffffffff") },
  { name: "time", reads: "TIMESTAMP", block: { time: "0x77777777" }, expected: word("77777777") },
  { name: "gasLimit", reads: "GASLIMIT", block: { gasLimit: "0x5f5e100" }, expected: word("5f5e100") },
  { name: "feeRecipient", reads: "COINBASE", block: { feeRecipient: OTHER }, expected: word(OTHER.slice(2)) },
  { name: "prevRandao", reads: "DIFFICULTY", block: { prevRandao: word("abcdef") }, expected: word("abcdef") },
  { name: "blobBaseFee", reads: "BLOBBASEFEE", block: { blobBaseFee: "0x42" }, expected: word("42") },
];

describe.each(["R", "G"] as const)("overrides, profile %s", (profile) => {
  let node: TestClient;
  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`, "--http.api=eth,debug,trace"]);
  });
  afterAll(() => node.remove());
  const rpc = <T = unknown>(method: string, ...params: unknown[]): Promise<T> => node.rpc.call<T>(method, params);
  const stateOf = ({ state = {}, own = {} }: Case, runs: string) => ({ ...state, [CALLED]: { ...own, code: code(runs) } });

  it.each(CASES)("$name", async (one) => {
    const { reads, block = {}, expected } = one;
    const call = { from: RICH_ADDRESS, to: CALLED };
    const state = stateOf(one, `${reads} ${RETURNED}`);
    expect(await rpc("eth_call", call, "latest", state, block)).toBe(expected);
    const traced = { tracer: "callTracer", stateOverrides: state, blockOverrides: block };
    expect(await rpc("debug_traceCall", call, "latest", traced)).toMatchObject({ output: expected });
    if (profile === "R")
      expect(await rpc("trace_call", call, ["trace"], "latest", state, block)).toMatchObject({ output: expected });
    const simulated = { blockStateCalls: [{ blockOverrides: block, stateOverrides: state, calls: [call] }] };
    const blocks = await rpc<{ calls: { returnData: Hex }[] }[]>("eth_simulateV1", simulated);
    expect(blocks.at(-1)!.calls.map(({ returnData }) => returnData)).toEqual([expected]); // the simulation also creates the blocks up to that number
    // Loads the slot whose number is the word that was read.
    const listed = stateOf(one, `${reads} SLOAD STOP`);
    const { accessList } = await rpc<{ accessList: { address: Hex; storageKeys: Hex[] }[] }>(
      "eth_createAccessList",
      call,
      "latest",
      listed,
      block,
    );
    expect(accessList.find(({ address }) => address === CALLED)?.storageKeys).toContain(expected);
    const checking = stateOf(one, strict(reads, expected));
    expect(await rpc("eth_estimateGas", call, "latest", checking, block)).toMatch(/^0x[0-9a-f]+$/);
    if (one.block !== undefined)
      await expect(rpc("eth_estimateGas", call, "latest", checking)).rejects.toMatchObject({ code: 3, message: /reverted/ });
  });

  it("do not make it another chain: a call that names one is refused", async () => {
    const [own, other] = ["0x385", "0x1"].map((chainId) => ({ from: RICH_ADDRESS, to: OTHER, chainId }));
    const methods = ["eth_call", "eth_estimateGas", "eth_createAccessList", "eth_fillTransaction", "debug_traceCall"];
    const refusal = profile === "R" ? "invalid chain ID" : "chainId does not match node's (have=1, want=901)";
    const at = (method: string) => (method === "eth_fillTransaction" ? [] : ["latest"]);
    for (const method of methods) {
      expect([method, await rpc(method, own, ...at(method))]).toEqual([method, expect.anything()]);
      await expect(rpc(method, other, ...at(method))).rejects.toMatchObject({ code: -32000, message: refusal });
    }
  });
});
