import type { StoredBlock } from "@rnode/chain";
import { bytesToHex, equalBytes, hexToBytes } from "@rnode/primitives";
import type { ReadBackend } from "./backend.ts";

/**
 * Measured memory costs: of a block; of a transaction with its receipt, sender and JSON texts; of a log; of a byte of data in both its
 * forms.
 */
const BYTES_PER_BLOCK = 8000;
const BYTES_PER_TRANSACTION = 6000;
const BYTES_PER_LOG = 2500;
const BYTES_PER_DATA_BYTE = 5;

/** Rough size of a block in memory, including the JSON texts cached with it. */
export function roughBlockBytes({ block, receipts }: StoredBlock): number {
  let bytes = BYTES_PER_BLOCK + BYTES_PER_TRANSACTION * block.transactions.length;
  for (const { data } of block.transactions) bytes += BYTES_PER_DATA_BYTE * data.length;
  for (const { logs } of receipts) for (const { data } of logs) bytes += BYTES_PER_LOG + BYTES_PER_DATA_BYTE * data.length;
  return bytes;
}

interface BlockCacheOptions {
  /** of all cached blocks together, as `roughBlockBytes` counts them */
  readonly maxBytes: number;
  /** called with the new total size whenever it changes */
  readonly onSize?: ((bytes: number) => void) | undefined;
}

const DEFAULT_OPTIONS: BlockCacheOptions = { maxBytes: 64 * 1024 * 1024 };

/**
 * The chain as reading methods see it, with the most recently requested blocks cached in decoded form: most requests are about the
 * newest blocks. Callers may attach computed values to a block (in a WeakMap keyed by it), because a cached block is always the same
 * object.
 */
export function withBlockCache(
  chain: ReadBackend["chain"],
  store: Pick<ReadBackend["store"], "readCanonicalHash">,
  { maxBytes, onSize }: BlockCacheOptions = DEFAULT_OPTIONS,
): ReadBackend["chain"] {
  /** by hash, least recently used first */
  const blocks = new Map<string, StoredBlock>();
  let bytes = 0;
  const forget = (key: string): void => {
    const stored = blocks.get(key);
    if (stored === undefined) return;
    blocks.delete(key);
    bytes -= roughBlockBytes(stored);
    onSize?.(bytes);
  };
  const remember = (key: string, stored: StoredBlock): void => {
    forget(key);
    blocks.set(key, stored);
    bytes += roughBlockBytes(stored);
    for (const oldest of blocks.keys()) {
      if (bytes <= maxBytes || oldest === key) break;
      forget(oldest);
    }
    onSize?.(bytes);
  };
  // PERF: nearly every call is about the head, so its header and state are looked up only once per block.
  let headHeader: { readonly hash: string; readonly found: ReturnType<typeof chain.headerOf> } | undefined;
  let headState: { readonly hash: string; readonly state: ReturnType<typeof chain.stateAt> } | undefined;
  chain.onHeadChange(({ removed }) => {
    headHeader = undefined;
    headState = undefined;
    for (const { hash } of removed) forget(bytesToHex(hash));
  });
  const isCanonical = ({ hash, block }: StoredBlock): boolean => {
    const canonical = store.readCanonicalHash(block.header.number);
    return canonical !== undefined && equalBytes(canonical, hash);
  };

  const resolve: ReadBackend["chain"]["resolve"] = (selector) => {
    let hash: Uint8Array | undefined;
    if (selector.kind === "number") hash = store.readCanonicalHash(selector.number);
    else if (selector.kind === "hash") hash = selector.hash;
    else if (selector.tag === "latest") hash = hexToBytes(chain.head().hash);
    if (hash === undefined) return chain.resolve(selector);
    const key = bytesToHex(hash);
    const kept = blocks.get(key);
    if (kept !== undefined) {
      if (selector.kind === "hash" && selector.requireCanonical && !isCanonical(kept)) return undefined;
      blocks.delete(key);
      blocks.set(key, kept);
      return kept;
    }
    const stored = chain.resolve(selector);
    if (stored !== undefined) remember(bytesToHex(stored.hash), stored);
    return stored;
  };
  return {
    config: chain.config,
    genesis: chain.genesis,
    head: () => chain.head(),
    resolve,
    partsOf: (selector) => chain.partsOf(selector),
    bodyOf: (selector) => {
      const hash = selector.kind === "number" ? store.readCanonicalHash(selector.number) : undefined;
      const kept = hash && blocks.get(bytesToHex(hash));
      return kept ?? chain.bodyOf(selector);
    },
    headerOf: (selector) => {
      if (selector.kind !== "tag" || selector.tag !== "latest") return chain.headerOf(selector);
      const { hash } = chain.head();
      if (headHeader?.hash !== hash) headHeader = { hash, found: chain.headerOf(selector) };
      return headHeader.found;
    },
    stateAt: (block) => {
      if (block.hash !== chain.head().hash) return chain.stateAt(block);
      if (headState?.hash !== block.hash) headState = { hash: block.hash, state: chain.stateAt(block) };
      return headState.state;
    },
    trieNodesAt: (block) => chain.trieNodesAt(block),
    onHeadChange: (listener) => chain.onHeadChange(listener),
  };
}
