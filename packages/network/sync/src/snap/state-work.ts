import type { AccountRange, RangeRow, StatePeer, StorageRanges } from "@rnode/devp2p";
import { decodeSlimAccount } from "@rnode/devp2p";
import {
  bytesToHex,
  CodedError,
  compareBytes,
  decodeRlp,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  equalBytes,
  expectRlpString,
  type Hex,
  keccak256,
} from "@rnode/primitives";
import { encodeAccount, type TrieAccount, verifyRange } from "@rnode/trie";
import { FIRST_KEY, type KeyRange, LAST_KEY, restAfter, splitKeys } from "./key-range.ts";

/** Takes the rows of a state in any order. A later row replaces an earlier one with the same key. */
export interface StateSink {
  /** @param hash keccak256 of the address */
  addAccount(hash: Uint8Array, account: TrieAccount): void;
  /** @param value without leading zeros, not empty */
  addSlot(owner: Uint8Array, hash: Uint8Array, value: Uint8Array): void;
  addCode(code: Uint8Array): void;
  hasCode(hash: Uint8Array): boolean;
}

/** "nothing": the peer does not have the state. */
export type TaskOutcome = "rows" | "nothing";

/** A part of a state that one request asks for. */
export interface StateTask {
  /** Asks a peer. @returns gives the answer to the sink, once it is verified; it throws {CodedError} sync/bad-state, trie/bad-proof, rlp/* */
  ask(peer: StatePeer, signal: AbortSignal): Promise<() => TaskOutcome>;
  /** Nothing came of it. */
  giveBack(): void;
}

/** Geth's: of the rows or codes in an answer */
const ANSWER_BYTES = 512 * 1024;
/** Ranges of accounts that are fetched at the same time. */
const ACCOUNT_RANGES = 16;
/** Parts of the slots of an account with more than an answer has. */
const SLOT_RANGES = 8;
/** Accounts whose slots one request asks for. */
const OWNERS = 128;
const CODES = 64;
/** No more accounts are fetched while so many wait for their slots or codes. */
const MAX_WAITING = 20_000;

/** An account whose slots are missing. */
interface Owner {
  readonly hash: Uint8Array;
  readonly root: Uint8Array;
}

/** What is missing of a state, as plain data. */
interface Missing {
  readonly accounts: KeyRange[];
  /** none of their slots are there */
  readonly owners: Owner[];
  /** of accounts some of whose slots are there */
  readonly slots: { readonly owner: Owner; readonly range: KeyRange }[];
  readonly codes: Uint8Array[];
}

/** For a later download of the same state. */
export interface StateProgress extends Missing {
  readonly root: Uint8Array;
}

/** Everything that is missing of the state with one root. */
export class StateWork {
  readonly #root: Uint8Array;
  readonly #sink: StateSink;
  readonly #missing: Missing;
  readonly #underWay = new Set<Partial<Missing>>();
  readonly #wantedCodes: Set<Hex>;

  /** @param from what an earlier download of the same state left */
  constructor(root: Uint8Array, sink: StateSink, from?: StateProgress) {
    this.#root = root;
    this.#sink = sink;
    const all = equalBytes(root, EMPTY_TRIE_ROOT) ? [] : splitKeys({ from: FIRST_KEY, to: LAST_KEY }, ACCOUNT_RANGES);
    const { accounts, owners, slots, codes } = from ?? { accounts: all, owners: [], slots: [], codes: [] };
    this.#missing = { accounts, owners, slots, codes };
    this.#wantedCodes = new Set(codes.map((hash) => bytesToHex(hash)));
  }

  get isDone(): boolean {
    const { accounts, owners, slots, codes } = this.#missing;
    return this.#underWay.size === 0 && accounts.length + owners.length + slots.length + codes.length === 0;
  }

  /** What is missing now, requests under way included. */
  progress(): StateProgress {
    const parts = [this.#missing, ...this.#underWay];
    return {
      root: this.#root,
      accounts: parts.flatMap(({ accounts = [] }) => accounts),
      owners: parts.flatMap(({ owners = [] }) => owners),
      slots: parts.flatMap(({ slots = [] }) => slots),
      codes: parts.flatMap(({ codes = [] }) => codes),
    };
  }

  /** The next task; `undefined`: there is none until one that is under way has ended. */
  next(): StateTask | undefined {
    const { accounts, owners, slots, codes } = this.#missing;
    const part = slots.shift();
    if (part !== undefined) return this.#slotsTask(part);
    const isFull = owners.length >= MAX_WAITING || codes.length >= MAX_WAITING;
    const range = isFull ? undefined : accounts[0];
    if (owners.length >= (range === undefined ? 1 : OWNERS)) return this.#ownersTask(owners.splice(0, OWNERS));
    if (codes.length >= (range === undefined ? 1 : CODES)) return this.#codesTask(codes.splice(0, CODES));
    if (range === undefined) return undefined;
    accounts.shift();
    return this.#accountsTask(range);
  }

  /** @param wanted is missing again if nothing comes of it */
  #task<Answer>(
    wanted: Partial<Missing>,
    request: (peer: StatePeer, signal: AbortSignal) => Promise<Answer>,
    take: (answer: Answer) => TaskOutcome,
  ): StateTask {
    this.#underWay.add(wanted);
    const giveBack = (): void => {
      if (!this.#underWay.delete(wanted)) return;
      const { accounts, owners, slots, codes } = this.#missing;
      accounts.unshift(...(wanted.accounts ?? []));
      owners.unshift(...(wanted.owners ?? []));
      slots.unshift(...(wanted.slots ?? []));
      codes.unshift(...(wanted.codes ?? []));
    };
    return {
      ask: async (peer, signal) => {
        const answer = await request(peer, signal);
        return () => {
          const outcome = take(answer);
          if (outcome === "nothing") giveBack();
          else this.#underWay.delete(wanted);
          return outcome;
        };
      },
      giveBack,
    };
  }

  #accountsTask(range: KeyRange): StateTask {
    const request = { root: this.#root, origin: range.from, limit: range.to, bytes: ANSWER_BYTES };
    return this.#task(
      { accounts: [range] },
      (peer, signal) => peer.accounts(request, signal),
      (answer) => this.#takeAccounts(range, answer),
    );
  }

  #takeAccounts(range: KeyRange, { accounts, proof }: AccountRange): TaskOutcome {
    if (accounts.length === 0 && proof.length === 0) return "nothing";
    const rows = accounts.map(({ hash, body }) => ({ hash, account: decodeSlimAccount(body) }));
    const entries = rows.map(({ hash, account }) => ({ key: hash, value: encodeAccount(account) }));
    const { hasMore } = verifyRange(this.#root, { origin: range.from, entries, proof });
    for (const { hash, account } of rows) if (compareBytes(hash, range.to) <= 0) this.#addAccount(hash, account);
    const rest = hasMore ? restAfter(range, rows.at(-1)!.hash) : undefined;
    if (rest !== undefined) this.#missing.accounts.push(rest);
    return "rows";
  }

  #addAccount(hash: Uint8Array, account: TrieAccount): void {
    const { codeHash, storageRoot: root } = account;
    this.#sink.addAccount(hash, account);
    if (!equalBytes(root, EMPTY_TRIE_ROOT)) this.#missing.owners.push({ hash, root });
    if (equalBytes(codeHash, EMPTY_KECCAK)) return;
    const code = bytesToHex(codeHash);
    if (this.#wantedCodes.has(code) || this.#sink.hasCode(codeHash)) return;
    this.#wantedCodes.add(code);
    this.#missing.codes.push(codeHash);
  }

  /** All slots of some accounts. */
  #ownersTask(owners: Owner[]): StateTask {
    const accounts = owners.map(({ hash }) => hash);
    const request = { root: this.#root, accounts, origin: FIRST_KEY, limit: LAST_KEY, bytes: ANSWER_BYTES };
    return this.#task(
      { owners },
      (peer, signal) => peer.slots(request, signal),
      (answer) => this.#takeOwners(owners, answer),
    );
  }

  #takeOwners(owners: readonly Owner[], { slots: given, proof }: StorageRanges): TaskOutcome {
    if (given.length === 0 && proof.length === 0) return "nothing";
    const slots = given.length === 0 ? [[]] : given; // an empty list may be left out
    if (slots.length > owners.length) throw badState(`slots of ${slots.length} accounts, and ${owners.length} were asked for`);
    const last = slots.length - 1;
    let hasMore = false;
    for (const [index, rows] of slots.entries()) {
      const range = { origin: FIRST_KEY, entries: entriesOf(rows), proof: index === last ? proof : [] };
      ({ hasMore } = verifyRange(owners[index]!.root, range));
    }
    for (const [index, rows] of slots.entries()) this.#addSlots(owners[index]!, rows);
    if (hasMore) this.#splitRest(owners[last]!, slots[last]!.at(-1)!.hash);
    this.#missing.owners.unshift(...owners.slice(slots.length));
    return "rows";
  }

  #splitRest(owner: Owner, last: Uint8Array): void {
    const rest = restAfter({ from: FIRST_KEY, to: LAST_KEY }, last);
    for (const range of rest === undefined ? [] : splitKeys(rest, SLOT_RANGES)) this.#missing.slots.push({ owner, range });
  }

  /** A range of the slots of one account. */
  #slotsTask(part: Missing["slots"][number]): StateTask {
    const { owner, range } = part;
    const request = { root: this.#root, accounts: [owner.hash], origin: range.from, limit: range.to, bytes: ANSWER_BYTES };
    return this.#task(
      { slots: [part] },
      (peer, signal) => peer.slots(request, signal),
      (answer) => this.#takeSlots(owner, range, answer),
    );
  }

  #takeSlots(owner: Owner, range: KeyRange, { slots: [rows = [], ...others], proof }: StorageRanges): TaskOutcome {
    if (rows.length === 0 && proof.length === 0) return "nothing";
    if (others.length > 0) throw badState(`slots of ${others.length + 1} accounts, and one was asked for`);
    const { hasMore } = verifyRange(owner.root, { origin: range.from, entries: entriesOf(rows), proof });
    this.#addSlots(
      owner,
      rows.filter(({ hash }) => compareBytes(hash, range.to) <= 0),
    );
    const rest = hasMore ? restAfter(range, rows.at(-1)!.hash) : undefined;
    if (rest !== undefined) this.#missing.slots.push({ owner, range: rest });
    return "rows";
  }

  #addSlots({ hash: owner }: Owner, rows: readonly RangeRow[]): void {
    for (const { hash, body } of rows) this.#sink.addSlot(owner, hash, expectRlpString(decodeRlp(body)));
  }

  #codesTask(hashes: Uint8Array[]): StateTask {
    return this.#task(
      { codes: hashes },
      (peer, signal) => peer.codes({ hashes, bytes: ANSWER_BYTES }, signal),
      (codes) => this.#takeCodes(hashes, codes),
    );
  }

  #takeCodes(hashes: readonly Uint8Array[], codes: readonly Uint8Array[]): TaskOutcome {
    if (codes.length === 0) return "nothing";
    const missing = new Map<Hex, Uint8Array>(hashes.map((hash) => [bytesToHex(hash), hash]));
    for (const code of codes) {
      const hash = bytesToHex(keccak256(code));
      if (!missing.delete(hash)) throw badState(`the code ${hash}, which was not asked for`);
      this.#wantedCodes.delete(hash);
    }
    for (const code of codes) this.#sink.addCode(code);
    this.#missing.codes.push(...missing.values());
    return "rows";
  }
}

/** @throws {CodedError} sync/bad-state: a value of more than 32 bytes, which no trie of a chain has */
function entriesOf(rows: readonly RangeRow[]): { readonly key: Uint8Array; readonly value: Uint8Array }[] {
  return rows.map(({ hash, body }) => {
    if (body.length > 33) throw badState(`a slot of ${body.length} bytes`);
    return { key: hash, value: body };
  });
}

const badState = (reason: string): CodedError => new CodedError("sync/bad-state", { reason });
