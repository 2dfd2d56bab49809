import type { AccountRecord, StateReader } from "@rnode/evm";
import { bigintToBytes, EMPTY_KECCAK, equalBytes, keccak256 } from "@rnode/primitives";
import { BufferedGroup } from "@rnode/storage/testing";
import { describe, expect, it } from "vitest";
import { PendingState } from "./pending-state.ts";

const word = (value: number): Uint8Array => bigintToBytes(BigInt(value), 32);
const address = (index: number): Uint8Array => keccak256(Uint8Array.of(index)).subarray(12);
const record = (nonce: number): AccountRecord => ({ nonce: BigInt(nonce), balance: 5n, codeHash: EMPTY_KECCAK });

/** Every account has this nonce, and slot 1 of each has this value. */
const baseOf = (nonce: number): StateReader => ({
  readAccount: () => record(nonce),
  readStorage: (_, slot) => (equalBytes(slot, word(1)) ? word(nonce) : undefined),
  readCode: (codeHash) => codeHash,
  readBlockHash: (number) => word(Number(number)),
});

/** A group of one block that sets the nonce and slot 2 of accounts. */
function add(group: BufferedGroup, number: number, accounts: readonly number[]): void {
  group.state.add(
    number,
    accounts.map((index) => ({
      address: address(index),
      before: record(0),
      after: record(number),
      storageCleared: false,
      storage: [{ slot: word(2), before: word(0), after: word(number) }],
    })),
  );
}

const nonces = (state: PendingState): (bigint | undefined)[] =>
  [0, 1, 2, 3].map((index) => state.readAccount(address(index))?.nonce);
const slots = (state: PendingState): (Uint8Array | undefined)[] =>
  [0, 1, 2].map((index) => state.readStorage(address(index), word(2)));

describe("PendingState", () => {
  it("shows the newest change of what is on the way, and the base where there is none", () => {
    const state = new PendingState(baseOf(100));
    const first = new BufferedGroup();
    const second = new BufferedGroup();
    state.push(first);
    add(first, 1, [0, 1]);
    state.push(second);
    expect(nonces(state)).toEqual([1n, 1n, 100n, 100n]);
    add(second, 2, [1, 2]); // visible as soon as it has been added
    expect(nonces(state)).toEqual([1n, 2n, 2n, 100n]);
    expect(slots(state)).toEqual([word(1), word(2), word(2)]);
    expect(state.readStorage(address(1), word(1))).toEqual(word(100));
    expect(state.readStorage(address(3), word(2))).toBeUndefined();
    state.rebase(baseOf(200), 1);
    expect(nonces(state)).toEqual([200n, 2n, 2n, 200n]);
    expect(state.readStorage(address(1), word(1))).toEqual(word(200));
  });

  it("shows hashes of blocks until they are stored", () => {
    const state = new PendingState(baseOf(100));
    state.push(new BufferedGroup());
    state.addHash(7, word(77));
    state.addHash(8, word(88));
    expect([6, 7, 8].map((number) => state.readBlockHash(number))).toEqual([word(6), word(77), word(88)]);
    state.rebase(baseOf(100), 7);
    expect([6, 7, 8].map((number) => state.readBlockHash(number))).toEqual([word(6), word(7), word(88)]);
  });
});
