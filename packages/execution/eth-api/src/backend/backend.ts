import type { BlockSelector, Chain, PendingBlock, StoredBlock } from "@rnode/chain";
import { rulesOfBlock } from "@rnode/chain";
import { type RpcError, rpcErrorOf } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import type { BlockId, BlockRules, Header } from "@rnode/protocol";
import type { BlockParts, ChainStoreReader, StateView } from "@rnode/storage";
import type { Profile } from "../profile/profile.ts";
import { indexesOfPending, type PendingBlocks, partsOfPending } from "./pending-blocks.ts";

/** What methods that only read need: no pool, no way to write. */
export interface ReadBackend {
  readonly profile: Profile;
  readonly chain: Pick<
    Chain,
    "config" | "genesis" | "head" | "resolve" | "partsOf" | "bodyOf" | "headerOf" | "stateAt" | "trieNodesAt" | "onHeadChange"
  >;
  readonly store: Pick<
    ChainStoreReader,
    "readTransactionLocation" | "readTotalDifficulty" | "blocksWithLogs" | "readCanonicalHash" | "readPreimage" | "retainedHistory"
  >;
  /** undefined: there are no parts of blocks under construction */
  readonly pending?: PendingBlocks | undefined;
}

export interface HeaderAt {
  readonly header: Header;
  readonly hash: Uint8Array;
}

/** @throws {RpcError} block not found, in the profile's words */
export function requireHeader(backend: ReadBackend, selector: BlockSelector): HeaderAt {
  const found = backend.chain.headerOf(selector);
  if (found === undefined) throw blockNotFound(backend, selector);
  return found;
}

/** @throws {RpcError} block not found, in the profile's words */
export function requireBlock(backend: ReadBackend, selector: BlockSelector): StoredBlock {
  const found = backend.chain.resolve(selector);
  if (found === undefined) throw blockNotFound(backend, selector);
  return found;
}

/** In the profile's words. */
export function blockNotFound({ chain, profile }: ReadBackend, selector: BlockSelector): RpcError {
  const isKnown =
    selector.kind === "hash" && selector.requireCanonical && chain.headerOf({ ...selector, requireCanonical: false }) !== undefined;
  return rpcErrorOf(profile.errors.blockNotFound(selector, isKnown));
}

export const blockIdOf = ({ header, hash }: HeaderAt): BlockId => ({ hash: bytesToHex(hash), number: header.number });

/**
 * Keyed by the object that `headerOf` returns for the head. Behind the block cache that object stays the same for as long as the block
 * is the head.
 */
const headStates = new WeakMap<HeaderAt, HeaderAt & { readonly state: StateView }>();

/** The state after a block. Calls for the same head return the same object. @throws {RpcError} block not found, state not retained */
export function requireState(backend: ReadBackend, selector: BlockSelector): HeaderAt & { readonly state: StateView } {
  const older = selector.kind === "number" ? stateByNumber(backend, selector.number) : undefined;
  if (older !== undefined) return older;
  const at = requireHeader(backend, selector);
  const known = headStates.get(at);
  if (known !== undefined) return known;
  const state = backend.chain.stateAt(blockIdOf(at));
  if (state === undefined) {
    const oldest = backend.store.retainedHistory()?.oldestState;
    throw rpcErrorOf(backend.profile.errors.stateUnavailable(selector, at.header, oldest));
  }
  const found = { ...at, state };
  if (selector.kind === "tag" && selector.tag === "latest") headStates.set(at, found);
  return found;
}

/**
 * The state by the block's number; undefined: there is none. PERF: the header is decoded lazily. Many short-lived headers caused
 * garbage-collection pauses of tens of milliseconds in the readers, several times per second.
 */
function stateByNumber({ chain, store }: ReadBackend, number: number): (HeaderAt & { readonly state: StateView }) | undefined {
  const hash = number > chain.head().number ? undefined : store.readCanonicalHash(number);
  const state = hash && chain.stateAt({ number, hash: bytesToHex(hash) });
  if (hash === undefined || state === undefined) return undefined;
  let header: Header | undefined;
  return {
    hash,
    state,
    get header() {
      header ??= chain.headerOf({ kind: "hash", hash, requireCanonical: false })!.header;
      return header;
    },
  };
}

export const rulesAt = ({ chain }: ReadBackend, header: Pick<Header, "number" | "timestamp" | "difficulty">): BlockRules =>
  rulesOfBlock(chain.config, header);

/** The block under construction; undefined: there is none on the head. */
export const pendingOnHead = ({ chain, pending }: Pick<ReadBackend, "chain" | "pending">): PendingBlock | undefined =>
  pending?.latest === undefined ? undefined : pending.on(chain.head().hash);

/** A transaction of the block under construction. */
export function findPendingTransaction(
  backend: ReadBackend,
  hash: Uint8Array,
): { readonly stored: PendingBlock; readonly index: number } | undefined {
  const stored = pendingOnHead(backend);
  const index = stored && indexesOfPending(stored).get(bytesToHex(hash));
  return stored === undefined || index === undefined ? undefined : { stored, index };
}

/** A canonical transaction by its hash. */
export function findTransaction(
  { chain, store }: ReadBackend,
  hash: Uint8Array,
): { readonly stored: StoredBlock; readonly index: number } | undefined {
  const location = store.readTransactionLocation(hash);
  if (location === undefined) return undefined;
  const stored = chain.resolve({ kind: "hash", hash: location.blockHash, requireCanonical: true });
  return stored === undefined ? undefined : { stored, index: location.index };
}

/** The same, also in the block under construction; only the requested parts are read (`Chain.partsOf`). */
export function findTransactionParts(
  backend: ReadBackend,
  hash: Uint8Array,
): { readonly parts: BlockParts; readonly index: number } | undefined {
  const { chain, store } = backend;
  const location = store.readTransactionLocation(hash);
  if (location === undefined) {
    const found = backend.pending?.isFoundByHash ? findPendingTransaction(backend, hash) : undefined;
    return found && { parts: partsOfPending(found.stored), index: found.index };
  }
  const parts = chain.partsOf({ kind: "hash", hash: location.blockHash, requireCanonical: false });
  return parts === undefined ? undefined : { parts, index: location.index };
}
