import { pathOfNibbles, type StatePeer, type TrieNodesRequest } from "@rnode/devp2p";
import { bytesToHex, decodeRlp, EMPTY_TRIE_ROOT, equalBytes, expectRlpString, type Hex, keccak256 } from "@rnode/primitives";
import { decodeAccount, differenceAt, type NodeAt, type TrieAccount, type TrieEntry } from "@rnode/trie";
import { badState, type MixedRows, type StateTask, type TaskOutcome } from "./state-task.ts";

/** A node that differs from ours. */
interface Different extends NodeAt {
  /** hash of the account, for a node of a storage trie */
  readonly owner: Uint8Array | undefined;
  /** `undefined`: it is the root */
  readonly parent: Different | undefined;
  /** nodes right below it that still differ, once it is there */
  left: number;
}

const ANSWER_BYTES = 512 * 1024;
const NODES = 256;
const OWNERS = 1_024;
const ROOT_PATH = new Uint8Array(0);

/**
 * Makes the rows of several states those of one: fetches the nodes of its tries that differ from ours, from the root down, and takes the leaves that they end in.
 * The account trie comes first, then the storage trie of each account whose slots may be of several states. The hash of each node that our rows have come to make
 * is remembered, so a later heal costs only what has changed since.
 */
export class StateHeal {
  readonly #root: Uint8Array;
  readonly #rows: MixedRows;
  readonly #onAccount: (account: TrieAccount) => void;
  /** the deepest last, so that there are never many */
  readonly #different: Different[];
  readonly #underWay = new Set<readonly Different[]>();
  /** the next account whose slots are compared; `undefined`: all were */
  #nextOwner: Uint8Array | undefined = new Uint8Array(32);
  #isEnded = false;
  #nodes = 0;

  /** @param onAccount is told of each account that has changed */
  constructor(root: Uint8Array, rows: MixedRows, onAccount: (account: TrieAccount) => void) {
    this.#root = root;
    this.#rows = rows;
    this.#onAccount = onAccount;
    this.#different = this.#isOurs(undefined, root) ? [] : [rootOf(undefined, root)];
  }

  get isDone(): boolean {
    return this.#different.length === 0 && this.#underWay.size === 0 && this.#nextOwner === undefined;
  }

  /** Nodes that were fetched. */
  get nodes(): number {
    return this.#nodes;
  }

  #isOurs(owner: Uint8Array | undefined, root: Uint8Array): boolean {
    const known = this.#rows.hashAt(owner, ROOT_PATH);
    return known !== undefined && equalBytes(known, root);
  }

  /** Answers that are still to come are ignored. */
  end(): void {
    this.#isEnded = true;
  }

  /** `undefined`: there is none until one that is under way has ended */
  next(): StateTask | undefined {
    while (this.#different.length === 0 && this.#underWay.size === 0 && this.#nextOwner !== undefined)
      this.#addOwners(this.#nextOwner);
    if (this.#different.length === 0) return undefined;
    const wanted = this.#different.splice(-NODES);
    this.#underWay.add(wanted);
    const giveBack = (): void => {
      if (this.#underWay.delete(wanted)) this.#different.push(...wanted);
    };
    return {
      ask: async (peer: StatePeer, signal) => {
        const nodes = await peer.nodes(this.#request(wanted), signal);
        return () => {
          const outcome = this.#isEnded ? "rows" : this.#take(wanted, nodes);
          if (outcome === "nothing") giveBack();
          else this.#underWay.delete(wanted);
          return outcome;
        };
      },
      giveBack,
    };
  }

  #addOwners(from: Uint8Array): void {
    const owners = this.#rows.dirty(from, OWNERS);
    for (const owner of owners) {
      const root = this.#rows.account(owner)?.storageRoot ?? EMPTY_TRIE_ROOT;
      const isEmpty = equalBytes(root, EMPTY_TRIE_ROOT);
      if (isEmpty) this.#rows.removeSlots(owner);
      if (isEmpty || this.#isOurs(owner, root)) this.#rows.markClean(owner);
      else this.#different.push(rootOf(owner, root));
    }
    this.#nextOwner = owners.length < OWNERS ? undefined : Uint8Array.of(...owners.at(-1)!, 0);
  }

  #request(wanted: readonly Different[]): TrieNodesRequest {
    const paths: Uint8Array[][] = [];
    let last: Different | undefined;
    for (const different of wanted) {
      const path = pathOfNibbles(different.path);
      if (different.owner === undefined) paths.push([path]);
      else if (last?.owner !== undefined && equalBytes(last.owner, different.owner)) paths.at(-1)!.push(path);
      else paths.push([different.owner, path]);
      last = different;
    }
    return { root: this.#root, paths, bytes: ANSWER_BYTES };
  }

  /** @throws {CodedError} sync/bad-state, trie/bad-proof, rlp/* */
  #take(wanted: readonly Different[], nodes: readonly Uint8Array[]): TaskOutcome {
    if (nodes.length === 0) return "nothing";
    const found = new Map<Hex, Uint8Array>(nodes.map((node) => [bytesToHex(keccak256(node)), node]));
    const known = new Set<Hex>(wanted.map(({ hash }) => bytesToHex(hash)));
    for (const hash of found.keys()) if (!known.has(hash)) throw badState(`the node ${hash}, which was not asked for`);
    const parts = wanted.map((different) => ({ different, node: found.get(bytesToHex(different.hash)) }));
    // All of them are read before any row is changed, so an answer that is wrong changes nothing.
    const differences = parts.flatMap(({ different, node }) => {
      if (node === undefined) return [];
      const { owner, path } = different;
      const ours = {
        below: (at: Uint8Array) => this.#rows.below(owner, at),
        hashAt: (at: Uint8Array) => this.#rows.hashAt(owner, at),
      };
      return [{ different, ...differenceAt(node, path, ours) }];
    });
    this.#nodes += differences.length;
    for (const { different, removed, changed, below, same } of differences) {
      const { owner } = different;
      if (owner === undefined) this.#changeAccounts(removed, changed);
      else this.#changeSlots(owner, removed, changed);
      for (const node of same) this.#rows.remember(owner, node);
      for (const node of below) this.#different.push({ ...node, owner, parent: different, left: 0 });
      different.left = below.length;
      if (below.length === 0) this.#complete(different);
    }
    for (const { different, node } of parts) if (node === undefined) this.#different.push(different);
    return "rows";
  }

  /** Our rows make this node now. */
  #complete(different: Different): void {
    for (let node = different; ; node = node.parent) {
      this.#rows.remember(node.owner, node);
      if (node.parent === undefined) {
        if (node.owner !== undefined) this.#rows.markClean(node.owner);
        return;
      }
      if (--node.parent.left > 0) return;
    }
  }

  #changeAccounts(removed: readonly Uint8Array[], changed: readonly TrieEntry[]): void {
    for (const hash of removed) this.#rows.removeAccount(hash);
    for (const { key, value } of changed) {
      const account = decodeAccount(value);
      const before = this.#rows.account(key)?.storageRoot ?? EMPTY_TRIE_ROOT;
      this.#rows.changeAccount(key, account);
      if (!equalBytes(before, account.storageRoot)) this.#rows.markDirty(key);
      this.#onAccount(account);
    }
  }

  #changeSlots(owner: Uint8Array, removed: readonly Uint8Array[], changed: readonly TrieEntry[]): void {
    for (const hash of removed) this.#rows.removeSlot(owner, hash);
    for (const { key, value } of changed) this.#rows.changeSlot(owner, key, expectRlpString(decodeRlp(value)));
  }
}

const rootOf = (owner: Uint8Array | undefined, hash: Uint8Array): Different => ({
  owner,
  path: ROOT_PATH,
  hash,
  parent: undefined,
  left: 0,
});
