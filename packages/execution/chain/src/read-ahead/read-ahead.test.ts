import type { StateChanges } from "@rnode/evm";
import { asciiToBytes, bytesToHex, concatBytes, keccak256, padBytesLeft } from "@rnode/primitives";
import type { Transaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { ReadAhead } from "./read-ahead.ts";

const number = (value: number, size: number): Uint8Array => padBytesLeft(Uint8Array.of(value >> 8, value), size);
const person = (index: number): Uint8Array => keccak256(number(index, 32)).subarray(12);
const TOKEN = person(9001);
const ROUTER = person(9002);
const MAPPING = 3;
const balanceSlot = (owner: Uint8Array): Uint8Array => keccak256(padBytesLeft(owner, 32), number(MAPPING, 32));
const SELECTOR = asciiToBytes("abcd");
const word = (address: Uint8Array): Uint8Array => padBytesLeft(address, 32);

/** A call with a receiver, an amount, and an amount that is no address. */
const call = (to: Uint8Array, receiver: Uint8Array): Transaction =>
  ({
    type: 2,
    to,
    data: concatBytes(SELECTOR, word(receiver), number(500, 32), new Uint8Array(32)),
    accessList: [],
  }) as unknown as Transaction;

/** Changes of slots of the token, as execution reports them. */
function changesOf(slots: readonly Uint8Array[]): StateChanges {
  const SLOT_BYTES = 96;
  const bytes = new Uint8Array(20 + slots.length * SLOT_BYTES);
  bytes.set(TOKEN);
  for (const [index, slot] of slots.entries()) bytes.set(slot, 20 + index * SLOT_BYTES);
  const records = {
    bytes,
    slotSize: SLOT_BYTES,
    nextAfter: () => bytes.length,
    slotCountOf: () => slots.length,
    slotsOf: () => 20,
  };
  return { accounts: [], codes: [], records } as unknown as StateChanges;
}

function reading(threads = 2) {
  const touched = new Set<string>();
  const messages: (() => void)[] = [];
  const thread = {
    isReady: true,
    touch(keys: Uint8Array) {
      for (let at = 0; at < keys.length; ) {
        const end = at + (keys[at] === 0 ? 21 : 53);
        touched.add(bytesToHex(keys.subarray(at + 1, end)));
        at = end;
      }
      return new Promise<void>((resolve) => messages.push(resolve));
    },
    close: () => Promise.resolve(),
  };
  const readAhead = new ReadAhead(Array.from({ length: threads }, () => thread));
  const take = (): Set<string> => {
    const taken = new Set(touched);
    touched.clear();
    return taken;
  };
  return { readAhead, take, messages, thread };
}

const hex = (...parts: Uint8Array[]): string => bytesToHex(concatBytes(...parts));

describe("what is read ahead of a block", () => {
  it("are receivers, addresses in call data and access lists, and then senders", () => {
    const { readAhead, take } = reading();
    const listed = { ...call(TOKEN, person(1)), accessList: [{ address: person(7), storageKeys: [number(1, 32)] }] };
    readAhead.receivers([listed as Transaction, call(TOKEN, person(2))]);
    expect(take()).toEqual(new Set([hex(TOKEN), hex(person(1)), hex(person(2)), hex(person(7)), hex(person(7), number(1, 32))]));
    readAhead.senders([listed as Transaction], [person(3)]);
    expect(take()).toEqual(new Set([hex(person(3))]));
  });

  it.each([
    ["of the contract that is called", TOKEN],
    ["of another one, which that one calls", ROUTER],
  ])("are entries of mappings %s, once blocks have shown which", (_, to) => {
    const { readAhead, take } = reading();
    for (let block = 0; block < 3; block++) {
      const [sender, receiver] = [person(10 + 2 * block), person(11 + 2 * block)];
      readAhead.learn([call(to, receiver)], [sender], changesOf([balanceSlot(sender), balanceSlot(receiver)]));
    }
    const calls = [call(to, person(101)), call(person(5), person(102))];
    readAhead.receivers(calls);
    const receivers = take();
    expect(receivers).toContain(hex(TOKEN, balanceSlot(person(101))));
    readAhead.senders(calls, [person(100), person(103)]);
    const senders = take();
    expect(senders).toContain(hex(TOKEN, balanceSlot(person(100))));
    // Nothing is known of the other contract.
    expect([...receivers, ...senders].filter((key) => key.length === 2 + 2 * 52)).toHaveLength(2);
  });

  it("is bounded: threads that are behind get nothing, and a block no more than so many keys", () => {
    const { readAhead, take, messages, thread } = reading(1);
    const many = Array.from({ length: 9000 }, (_, index) => call(person(index), person(20_000 + index)));
    readAhead.receivers(many);
    expect(take().size).toBe(8192);
    for (let block = 0; block < 9; block++) readAhead.receivers([call(TOKEN, person(block))]);
    expect(messages).toHaveLength(4);
    thread.isReady = false;
    for (const answer of messages.splice(0)) answer();
    readAhead.receivers([call(TOKEN, person(1))]);
    expect(messages).toHaveLength(0);
  });

  it("nothing, without threads", async () => {
    const readAhead = new ReadAhead([]);
    readAhead.receivers([call(TOKEN, person(1))]);
    await readAhead.close();
  });
});
