import { type AccountChange, type AccountRecord, ChangeRecords, type StateChanges } from "@rnode/evm";
import { bytesToHex, equalBytes, type Hex } from "@rnode/primitives";
import { LinearStateTrie } from "@rnode/trie";
import { packChanges } from "./packed-changes.ts";
import type { ParentTrie } from "./state-root.ts";

type SlotChange = AccountChange["storage"][number];

const ZERO_WORD = new Uint8Array(32);

/**
 * The state roots within a block, in its order. PERF: each root processes only the changes since the previous one. Computed from
 * the start of the block, the last of n roots would process the changes of all n transactions.
 */
export class IntermediateRoots {
  readonly #parent: Pick<ParentTrie, "nodes">;
  readonly #trie = new LinearStateTrie();
  #root: Uint8Array;
  #before = new ChangeRecords(new Uint8Array(0));

  constructor(parent: Pick<ParentTrie, "nodes" | "stateRoot">) {
    this.#parent = parent;
    this.#root = parent.stateRoot;
  }

  /** @param changes since the block began, in the engine's own form. @throws {CodedError} trie/missing-node */
  next({ records }: StateChanges): Uint8Array {
    if (records === undefined) throw new TypeError("the changes are not those of an engine: they have no records");
    const [earlier, later] = differingParts(this.#before, records);
    const step = changesBetween(earlier, later);
    this.#before = records;
    if (step.length > 0)
      this.#root = this.#trie.update(this.#parent.nodes, this.#root, packChanges({ accounts: step, codes: [] })).stateRoot;
    return this.#root;
  }
}

/**
 * PERF: the records of two moments are mostly the same bytes, because the engine lists accounts and slots in the order of their first use. Only
 * what differs becomes objects: accounts, and of each the slots between the equal ones at its start and at its end.
 */
function differingParts(before: ChangeRecords, after: ChangeRecords): [AccountChange[], AccountChange[]] {
  const parts: [AccountChange[], AccountChange[]] = [[], []];
  const places = new Map<Hex, number>();
  for (let at = 0; at < before.bytes.length; at = before.nextAfter(at)) places.set(addressAt(before, at), at);
  for (let at = 0; at < after.bytes.length; at = after.nextAfter(at)) {
    const address = addressAt(after, at);
    const earlier = places.get(address);
    places.delete(address);
    if (earlier === undefined) parts[1].push(after.changeAt(at));
    else if (before.isStorageCleared(earlier) !== after.isStorageCleared(at)) {
      parts[0].push(before.changeAt(earlier));
      parts[1].push(after.changeAt(at));
    } else {
      const [counts, first, same] = equalEnds(before, earlier, after, at);
      parts[0].push(before.changeAt(earlier, first, counts[0] - same));
      parts[1].push(after.changeAt(at, first, counts[1] - same));
    }
  }
  for (const at of places.values()) parts[0].push(before.changeAt(at));
  return parts;
}

const addressAt = ({ bytes }: ChangeRecords, at: number): Hex => bytesToHex(bytes.subarray(at, at + 20));

/** @returns how many slots both records have, how many of them are equal at the start, and how many of the others at the end */
function equalEnds(a: ChangeRecords, recordA: number, b: ChangeRecords, recordB: number): [[number, number], number, number] {
  const counts: [number, number] = [a.slotCountOf(recordA), b.slotCountOf(recordB)];
  const least = Math.min(...counts);
  const isSame = (slotA: number, slotB: number): boolean => {
    const atA = a.slotsOf(recordA) + slotA * a.slotSize;
    const atB = b.slotsOf(recordB) + slotB * b.slotSize;
    for (let i = 0; i < a.slotSize; i++) if (a.bytes[atA + i] !== b.bytes[atB + i]) return false;
    return true;
  };
  let first = 0;
  while (first < least && isSame(first, first)) first++;
  let same = 0;
  while (same < least - first && isSame(counts[0] - same - 1, counts[1] - same - 1)) same++;
  return [counts, first, same];
}

/** The changes between two points of a block. @param earlier net changes up to the first point. @param later up to the second */
function changesBetween(earlier: readonly AccountChange[], later: readonly AccountChange[]): AccountChange[] {
  const before = new Map<Hex, AccountChange>(earlier.map((change) => [bytesToHex(change.address), change]));
  const changes: AccountChange[] = [];
  const add = (change: AccountChange): void => {
    const { before: from, after, storageCleared, storage } = change;
    if (storageCleared || storage.length > 0 || !isSameAccount(from, after)) changes.push(change);
  };
  for (const change of later) {
    const key = bytesToHex(change.address);
    const first = before.get(key);
    before.delete(key);
    if (first === undefined) changes.push(change);
    else if (first.storageCleared === change.storageCleared)
      add({ ...change, before: first.after, storageCleared: false, storage: slotsBetween(first, change) });
    else add({ ...change, before: first.after });
  }
  // an account that is not listed any more is as it was before the block; one whose storage was cleared had none
  for (const { address, before: original, after, storageCleared, storage } of before.values()) {
    const restored = storageCleared ? [] : storage.map((slot) => ({ slot: slot.slot, before: slot.after, after: slot.before }));
    add({ address, before: after, after: original, storageCleared, storage: restored });
  }
  return changes;
}

function slotsBetween(first: AccountChange, second: AccountChange): SlotChange[] {
  const before = new Map<Hex, SlotChange>(first.storage.map((change) => [bytesToHex(change.slot), change]));
  const slots: SlotChange[] = [];
  for (const change of second.storage) {
    const key = bytesToHex(change.slot);
    const from = before.get(key)?.after ?? change.before;
    before.delete(key);
    if (!equalBytes(from, change.after)) slots.push({ ...change, before: from });
  }
  for (const { slot, before: original, after } of before.values())
    slots.push({ slot, before: after, after: second.storageCleared ? ZERO_WORD : original });
  return slots;
}

const isSameAccount = (a: AccountRecord | undefined, b: AccountRecord | undefined): boolean =>
  a === undefined || b === undefined
    ? a === b
    : a.nonce === b.nonce && a.balance === b.balance && equalBytes(a.codeHash, b.codeHash);
