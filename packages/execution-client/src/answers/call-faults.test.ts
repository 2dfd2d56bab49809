import { type Hex, toQuantity } from "@rnode/primitives";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestClient, type TestClient } from "../testing/test-client.ts";

// Reasons for refusing calls and estimates before they run, in the words of both profiles.

const POOR = "0xC000000000000000000000000000000000000000"; // with its EIP-55 checksum
const FUNDED = "0xd000000000000000000000000000000000000000";
const OTHER: Hex = `0x${"00".repeat(19)}aa`;
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
      "insufficient funds for gas * price + value: have 0 want 1000",
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
  ["nothing that costs", {}, "answered", "answered"],
];

describe.each(["R", "G"] as const)("what calls are refused for, profile %s", (profile) => {
  let node: TestClient;
  beforeAll(async () => {
    const alloc = { [FUNDED]: { balance: toQuantity(30_000n * 2n * GWEI) } };
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
