import type { BlockSelector, StoredBlock } from "@rnode/chain";
import { type BlockParts, decodeBody } from "@rnode/storage";
import { blockNotFound, findTransactionParts, type ReadBackend } from "../backend/backend.ts";
import { assertRetained, partsWithReceipts } from "../backend/pruned-history.ts";

/** A block to execute again. It has no receipts, because it need not be a block of our chain. */
export type TraceableBlock = Pick<StoredBlock, "block" | "hash" | "senders">;

/** A block of the chain to execute again. PERF: its receipts are not read. @throws {RpcError} its senders were pruned */
export function findTraceable(backend: ReadBackend, selector: BlockSelector): TraceableBlock | undefined {
  const parts = partsWithReceipts(backend, selector);
  return parts && traceableOf(parts);
}

/** @throws {RpcError} block not found, in the profile's words; or its senders were pruned */
export function requireTraceable(backend: ReadBackend, selector: BlockSelector): TraceableBlock {
  const found = findTraceable(backend, selector);
  if (found === undefined) throw blockNotFound(backend, selector);
  return found;
}

/** The block of a canonical transaction, to execute it again. @throws {RpcError} its senders were pruned */
export function findTraceableTransaction(
  backend: ReadBackend,
  hash: Uint8Array,
): { readonly stored: TraceableBlock; readonly index: number } | undefined {
  const found = findTransactionParts(backend, hash);
  if (found === undefined) return undefined;
  const { parts, index } = found;
  if (!parts.hasReceipts) {
    assertRetained(backend.store, backend.profile, parts.number);
    return undefined;
  }
  return { stored: traceableOf(parts), index };
}

function traceableOf(parts: BlockParts): TraceableBlock {
  const { hash, header, count } = parts;
  const senders = Array.from({ length: count }, (_, index) => parts.sender(index));
  return { hash, block: { header, ...decodeBody(parts) }, senders };
}
