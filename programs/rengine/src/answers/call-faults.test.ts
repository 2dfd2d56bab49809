import { type Hex, toQuantity } from "@rnode/primitives";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestClient, type TestClient } from "../testing/test-client.ts";

// Reasons for refusing calls and estimates before they run, in the words of both profiles.

const POOR = "0xC000000000000000000000000000000000000000"; // with its EIP-55 checksum
const FUNDED = "0xd000000000000000000000000000000000000000";
const OTHER: Hex = `0x${"00".repeat(19)}aa`;
const INVALID: Hex = `0x${"00".repeat(19)}fe`;
const UNDEFINED: Hex = `0x${"00".repeat(19)}cc`;
/** CALL to INVALID with 1,000 gas, then 0x0c */
const CALLS_INVALID = "0x6000600060006000600060fe6103e8f1500c";
const GWEI = 10n ** 9n;
const BOTH = "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified";
const from = POOR.toLowerCase();

/** The fields of the call, and the answers of `eth_call` and `eth_estimateGas`: R's code and text, and G's text. */
type Row = readonly [name: string, fields: object, call: Words, estimate: Words];
type Words = readonly [code: number, r: string, g: string] | "answered";

const rows: readonly Row[] = [
  [
    "value above the balance",
    { value: "0x3e8" },
    [
      -32003,
      "insufficient funds for gas * price + value: have 0 want 1000",
      `err: insufficient funds for gas * price + value: address ${POOR} have 0 want 1000 (supplied gas 50000000)`,
    ],
    [
      -32003,
      "EVM error: OutOfFunds",
      `failed with 30000000 gas: insufficient funds for gas * price + value: address ${POOR} have 0 want 1000`,
    ],
  ],
  [
    "value above the balance, with a fee",
    { value: "0x3e8", maxFeePerGas: toQuantity(2n * GWEI), gas: "0x5208" },
    [
      -32003,
      "insufficient funds for gas * price + value: have 0 want 1000",
      `err: insufficient funds for gas * price + value: address ${POOR} have 0 want ${1000n + 21_000n * 2n * GWEI} (supplied gas 21000)`,
    ],
    [-32003, "insufficient funds for gas * price + value: have 0 want 1000", "insufficient funds for transfer"],
  ],
  [
    "no funds for gas",
    { gasPrice: toQuantity(2n * GWEI) },
    [
      -32003,
      `insufficient funds for gas * price + value: have 0 want ${50_000_000n * 2n * GWEI}`,
      `err: insufficient funds for gas * price + value: address ${POOR} have 0 want ${50_000_000n * 2n * GWEI} (supplied gas 50000000)`,
    ],
    [-32000, "gas required exceeds allowance (0)", "gas required exceeds allowance (0)"],
  ],
  [
    "a fee below the base fee",
    { maxFeePerGas: "0x1", gas: "0x5208" },
    [
      -32000,
      "max fee per gas less than block base fee",
      `err: max fee per gas less than block base fee: address ${POOR}, maxFeePerGas: 1, baseFee: ${GWEI} (supplied gas 21000)`,
    ],
    [
      -32000,
      "max fee per gas less than block base fee",
      `failed with 21000 gas: max fee per gas less than block base fee: address ${POOR}, maxFeePerGas: 1, baseFee: ${GWEI}`,
    ],
  ],
  [
    "a tip above the fee",
    { maxFeePerGas: toQuantity(2n * GWEI), maxPriorityFeePerGas: toQuantity(3n * GWEI), gas: "0x5208" },
    [
      -32003,
      "max priority fee per gas higher than max fee per gas",
      `err: max priority fee per gas higher than max fee per gas: address ${POOR}, maxPriorityFeePerGas: ${3n * GWEI}, maxFeePerGas: ${2n * GWEI} (supplied gas 21000)`,
    ],
    [
      -32003,
      "max priority fee per gas higher than max fee per gas",
      `failed with 21000 gas: max priority fee per gas higher than max fee per gas: address ${POOR}, maxPriorityFeePerGas: ${3n * GWEI}, maxFeePerGas: ${2n * GWEI}`,
    ],
  ],
  ["both fee models", { gasPrice: "0x1", maxFeePerGas: "0x1" }, [-32602, BOTH, BOTH], [-32602, BOTH, BOTH]],
  [
    "less gas than a transaction costs",
    { gas: "0x10" },
    [-32000, "intrinsic gas too low", "err: intrinsic gas too low: have 16, want 21000 (supplied gas 16)"],
    "answered", // a plain transfer is tried with 21,000 first
  ],
  [
    "less gas than the floor for its data",
    { gas: toQuantity(22_500n), data: `0x${"11".repeat(64)}` },
    [-32000, "intrinsic gas too low", "err: insufficient gas for floor data gas cost: have 22500, want 23560 (supplied gas 22500)"],
    [
      -32000,
      "gas required exceeds allowance (22500)",
      "failed with 22500 gas: insufficient gas for floor data gas cost: have 22500, want 23560",
    ],
  ],
  [
    "INVALID",
    { to: INVALID, gas: "0xc350" },
    [-32003, "EVM error: InvalidFEOpcode", "invalid opcode: INVALID"],
    [-32003, "EVM error: InvalidFEOpcode", "invalid opcode: INVALID"],
  ],
  [
    "a byte that is no instruction, after a call in which there was INVALID",
    { to: UNDEFINED, gas: "0x186a0" },
    [-32003, "EVM error: OpcodeNotFound", "invalid opcode: opcode 0xc not defined"],
    [-32003, "EVM error: OpcodeNotFound", "invalid opcode: opcode 0xc not defined"],
  ],
  ["nothing that costs", {}, "answered", "answered"],
];

describe.each(["R", "G"] as const)("what calls are refused for, profile %s", (profile) => {
  let node: TestClient;
  beforeAll(async () => {
    const alloc = {
      [FUNDED]: { balance: toQuantity(30_000n * 2n * GWEI) },
      [INVALID]: { balance: "0x0", code: "0xfe" },
      [UNDEFINED]: { balance: "0x0", code: CALLS_INVALID },
    };
    node = await startTestClient([`--profile=${profile}`], undefined, { alloc });
  });
  afterAll(() => node.remove());
  const answer = (method: string, fields: object, sender: string = from): Promise<unknown> =>
    node.rpc.call(method, [{ from: sender, to: OTHER, ...fields }, "latest"]).then(
      () => "answered",
      ({ code, message }: { code: number; message: string }) => [code, message],
    );
  const said = (words: Words) => (words === "answered" ? words : profile === "R" ? [words[0], words[1]] : [-32000, words[2]]);

  it.each(rows)("%s", async (_, fields, call, estimate) => {
    expect(await answer("eth_call", fields)).toEqual(said(call));
    expect(await answer("eth_estimateGas", fields)).toEqual(said(estimate));
  });

  it("funds for less gas than a transaction needs, and for just enough", async () => {
    const price = toQuantity(2n * GWEI);
    const half = { gasPrice: price, value: toQuantity(20_000n * 2n * GWEI) }; // leaves gas for 10,000
    expect(await answer("eth_estimateGas", half, FUNDED)).toEqual([-32000, "gas required exceeds allowance (10000)"]);
    expect(await answer("eth_estimateGas", { gasPrice: price }, FUNDED)).toBe("answered");
  });
});
