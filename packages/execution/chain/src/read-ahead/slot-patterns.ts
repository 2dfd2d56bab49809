import type { StateChanges } from "@rnode/evm";
import { bytesToHex, type Hex, keccak256, LruCache } from "@rnode/primitives";
import type { Transaction } from "@rnode/protocol";

/*
 * Most slots that transactions touch are entries of mappings: keccak256(key 32 ‖ place of the mapping 32), where the key is the sender or an
 * address in the call data. Which mappings of which contracts belong to calls of a contract is learned from blocks that were executed.
 */

const WORD = 32;
const ADDRESS_SIZE = 20;
const SELECTOR_SIZE = 4;
/** Words of call data that are looked at. */
const MAX_WORDS = 6;
/** Places of mappings that are tried; contracts have few variables before their balances. */
const PLACES = 10;
/** Contracts that are called, of which patterns are remembered. */
const MAX_TARGETS = 2048;
const MAX_PATTERNS = 8;
/** Transactions of a block from which is learned; some hundred hashes, half a millisecond. */
const SAMPLE = 10;
/** After this many samples, a target is sampled only occasionally. */
const LESSONS = 24;
const LATER_LESSONS = 64;
/** of a block from which is learned */
const MAX_SLOTS = 4096;

interface Pattern {
  readonly contract: Uint8Array;
  readonly place: number;
}

interface Target {
  readonly patterns: Pattern[];
  lessons: number;
}

export class SlotPatterns {
  readonly #targets = new LruCache<Hex, Target>(MAX_TARGETS);
  readonly #preimage = new Uint8Array(2 * WORD);
  #turn = 0;

  /** Learns from an executed block. */
  learn(transactions: readonly Transaction[], senders: readonly Uint8Array[], changes: StateChanges): void {
    const wanted = this.#sampleOf(transactions);
    if (wanted.length === 0) return;
    const changed = changedSlots(changes);
    if (changed === undefined) return;
    for (const index of wanted) {
      const { to, data } = transactions[index]!;
      const target = this.#targetOf(to!);
      target.lessons++;
      for (const word of [senders[index], ...addressesIn(data)]) {
        if (word === undefined) continue;
        for (let place = 0; place < PLACES; place++) {
          const contract = changed.get(bytesToHex(this.#entryOf(word, place)));
          if (contract !== undefined) addPattern(target.patterns, { contract, place });
        }
      }
    }
  }

  /** Calls from which there is something to learn, other ones each time. */
  #sampleOf(transactions: readonly Transaction[]): number[] {
    const sample: number[] = [];
    const { length } = transactions;
    const start = length === 0 ? 0 : this.#turn++ % length;
    for (let i = 0; i < length && sample.length < SAMPLE; i++) {
      const index = (start + i * 7) % length;
      const { to, data } = transactions[index]!;
      if (to === undefined || data.length < SELECTOR_SIZE) continue;
      const { lessons } = this.#targetOf(to);
      if (lessons < LESSONS || this.#turn % LATER_LESSONS === 0) sample.push(index);
    }
    return sample;
  }

  #targetOf(to: Uint8Array): Target {
    const key = bytesToHex(to);
    let target = this.#targets.get(key);
    if (target === undefined) this.#targets.set(key, (target = { patterns: [], lessons: 0 }));
    return target;
  }

  /** Slots that a call of `to` is likely to touch for an address. */
  slotsFor(to: Uint8Array, address: Uint8Array, visit: (contract: Uint8Array, slot: Uint8Array) => void): void {
    const target = this.#targets.get(bytesToHex(to));
    if (target === undefined) return;
    for (const { contract, place } of target.patterns) visit(contract, this.#entryOf(address, place));
  }

  #entryOf(address: Uint8Array, place: number): Uint8Array {
    const preimage = this.#preimage.fill(0);
    preimage.set(address, WORD - ADDRESS_SIZE);
    preimage[2 * WORD - 1] = place;
    return keccak256(preimage);
  }
}

function addPattern(patterns: Pattern[], pattern: Pattern): void {
  const isKnown = patterns.some(
    ({ contract, place }) => place === pattern.place && bytesToHex(contract) === bytesToHex(pattern.contract),
  );
  if (isKnown) return;
  if (patterns.length === MAX_PATTERNS) patterns.shift();
  patterns.push(pattern);
}

/** The contract of each changed slot; undefined: the block gives no samples. */
function changedSlots({ records }: StateChanges): ReadonlyMap<Hex, Uint8Array> | undefined {
  if (records === undefined) return undefined;
  const slots = new Map<Hex, Uint8Array>();
  const { bytes } = records;
  for (let at = 0; at < bytes.length; at = records.nextAfter(at)) {
    const count = Math.min(records.slotCountOf(at), MAX_SLOTS - slots.size);
    if (count === 0) continue;
    const contract = bytes.slice(at, at + ADDRESS_SIZE);
    for (let i = 0; i < count; i++) {
      const slot = records.slotsOf(at) + i * records.slotSize;
      slots.set(bytesToHex(bytes.subarray(slot, slot + WORD)), contract);
    }
  }
  return slots.size === 0 ? undefined : slots;
}

/** Words of call data that may be addresses: twelve zeros first, and no small number. */
export function* addressesIn(data: Uint8Array): Generator<Uint8Array> {
  for (let word = 0, at = SELECTOR_SIZE; word < MAX_WORDS && at + WORD <= data.length; word++, at += WORD) {
    let zeros = 0;
    while (zeros < WORD && data[at + zeros] === 0) zeros++;
    if (zeros >= WORD - ADDRESS_SIZE && zeros < WORD - ADDRESS_SIZE + 6) yield data.subarray(at + WORD - ADDRESS_SIZE, at + WORD);
  }
}
