import { describe, expect, it } from "vitest";
import { type SendVerdict, sendVerdictOf } from "./send-verdict.ts";

describe("sendVerdictOf", () => {
  it.each<[string, SendVerdict]>([
    ["already known", "accepted"],
    ["transaction already imported", "accepted"],
    ["AlreadyKnown", "accepted"],
    ["nonce too low: next nonce 5, tx nonce 4", "nonce-too-low"],
    ["nonce too low", "nonce-too-low"],
    ["OldNonce, Current nonce: 5, nonce of rejected tx: 4", "nonce-too-low"],
    ["replacement transaction underpriced", "underpriced"],
    ["transaction underpriced: gas tip cap 1, minimum needed 2", "underpriced"],
    ["ReplacementNotAllowed", "underpriced"],
    ["max fee per gas less than block base fee: address 0x…, maxFeePerGas: 1, baseFee: 7", "underpriced"],
    ["insufficient funds for gas * price + value: balance 0, tx cost 42", "insufficient-funds"],
    ["Insufficient funds for gas * price + value", "insufficient-funds"],
    ["Upfront cost exceeds account balance", "insufficient-funds"],
    ["address already reserved", "address-reserved"],
    ["transaction type Eip1559 conflicts with existing transaction type for 0x…", "address-reserved"],
    ["unexpected sidecar version, want: 1, got: 0", "wrong-sidecar"],
    ["unexpected eip-4844 sidecar after osaka", "wrong-sidecar"],
    ["missing cell proofs", "wrong-sidecar"],
    ["blob sidecar of version 0, expected 1", "wrong-sidecar"],
    ["intrinsic gas too low: gas 15000, minimum needed 21000", "too-little-gas"],
    ["insufficient gas for floor data gas cost: gas 4821000, minimum needed 7695000", "too-little-gas"],
    ["IntrinsicGas, Gas limit too low", "too-little-gas"],
    ["gas floor exceeds the gas limit", "too-little-gas"],
    ["exceeds block gas limit", "refused"],
    ["nonce too high", "refused"],
    ["", "refused"],
  ])("%s: %s", (message, verdict) => {
    expect(sendVerdictOf(message)).toBe(verdict);
  });
});
