import { bytesToHex, hexToBytes, keccak256 } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { outputRootPreimage } from "../blocks/output-root.ts";
import type { ExecutionPayload, ExecutionPayloadEnvelope } from "../blocks/payload.ts";
import { forksUpTo } from "../forks/fork-times.ts";
import { depositCalldata } from "../transactions/deposits.ts";
import { decodeTransaction } from "../transactions/transaction-codec.ts";
import { replacedOutput, replacementAttributes, replacementDeposit } from "./replacement-block.ts";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);
const output = { stateRoot: filled(32, 1), messagePasserStorageRoot: filled(32, 2), blockHash: filled(32, 3) };
const deposit = replacementDeposit(output); // any deposit
const user = Uint8Array.of(2, 0xc0);

function block(fields: Partial<ExecutionPayload> = {}): ExecutionPayloadEnvelope {
  return {
    executionPayload: {
      parentHash: filled(32, 9),
      feeRecipient: filled(20, 4),
      stateRoot: output.stateRoot,
      receiptsRoot: filled(32, 5),
      logsBloom: new Uint8Array(256),
      prevRandao: filled(32, 6),
      blockNumber: 7,
      gasLimit: 60_000_000n,
      gasUsed: 1n,
      timestamp: 1_700_000_014,
      extraData: hexToBytes("0x01000000fa000000060000000000000064"),
      baseFeePerGas: 1n,
      blockHash: output.blockHash,
      transactions: [deposit, user, user],
      withdrawals: [],
      blobGasUsed: 0n,
      excessBlobGas: 0n,
      withdrawalsRoot: output.messagePasserStorageRoot,
      ...fields,
    },
    parentBeaconBlockRoot: filled(32, 8),
  };
}

const config = { forkTimes: forksUpTo("interop") };

describe("the block that replaces one with an invalid message", () => {
  it("has its attributes, its deposits, and one more that names it", () => {
    expect(replacementAttributes(config, block())).toEqual({
      timestamp: 1_700_000_014,
      prevRandao: filled(32, 6),
      suggestedFeeRecipient: filled(20, 4),
      withdrawals: [],
      parentBeaconBlockRoot: filled(32, 8),
      transactions: [deposit, replacementDeposit(output)],
      noTxPool: true,
      gasLimit: 60_000_000n,
      eip1559Params: hexToBytes("0x000000fa00000006"),
      minBaseFee: 100n,
    });
  });

  // docs/protocol/02-derivation.md#interop-derivation
  it("ends with a deposit to nobody, of 36,000 gas, with the replaced output as its data", () => {
    const preimage = outputRootPreimage(output);
    expect(decodeTransaction(deposit)).toMatchObject({
      from: hexToBytes("0xdeaddeaddeaddeaddeaddeaddeaddeaddead0002"),
      to: new Uint8Array(20),
      gasLimit: 36_000n,
      value: 0n,
      isSystemTx: false,
      sourceHash: keccak256(hexToBytes(`0x${"4".padStart(64, "0")}`), keccak256(preimage)),
    });
    expect(bytesToHex(depositCalldata(deposit))).toBe(bytesToHex(preimage));
  });

  it("says what it replaces, and no other block does", () => {
    expect(replacedOutput([user, deposit])).toEqual(output);
    expect(replacedOutput([deposit, user])).toBeUndefined();
    expect(replacedOutput([])).toBeUndefined();
    const other = deposit.slice();
    other[deposit.length - 1] = 4; // still the replacement of some block
    expect(bytesToHex(replacedOutput([other])!.blockHash)).toBe(`0x${"03".repeat(31)}04`);
  });

  it("cannot be one of a time without a message passer's root in the header", () => {
    const early = { forkTimes: forksUpTo("granite") };
    expect(() => replacementAttributes(early, block({ withdrawalsRoot: undefined }))).toThrow(
      "replacement: not replaceable (number 7)",
    );
  });
});
