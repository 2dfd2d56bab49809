import { bytesToHex, EMPTY_TRIE_ROOT, equalBytes, type Hex, hexToBytes, hexToFixedBytes, isCodedError } from "@rnode/primitives";
import {
  blockFromRpc,
  blockToPayload,
  decodeHeader,
  type ExecutionPayloadEnvelope,
  encodeTransaction,
  encodeWithdrawal,
  type ForkTimes,
  HashedPayload,
  type Header,
  hashHeader,
  headerFromRpc,
  headerToPayload,
  type RpcBlock,
  rollupRulesAt,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { EngineError } from "./engine-error.ts";

/**
 * Checks a payload that came in the Engine API's form. One that was hashed before is not hashed again.
 *
 * @param method the method that returned it, for the error
 * @throws {EngineError} engine/bad-answer
 */
export function checkPayload(method: string, envelope: ExecutionPayloadEnvelope, forkTimes: ForkTimes): HashedPayload {
  const { blockHash, timestamp, withdrawals, withdrawalsRoot } = envelope.executionPayload;
  const { hasExecutionRequests, hasMessagePasserRoot } = rollupRulesAt(forkTimes, timestamp);
  // since Isthmus the header commits to the message passer's root instead of the list: all that can be checked is
  // that the list is empty
  const isListCovered = hasMessagePasserRoot ? withdrawals?.length === 0 : withdrawalsRoot === undefined;
  if (!isListCovered) throw new EngineError("engine/bad-answer", { method, mismatch: "withdrawals" });
  const hashed = readAnswer(method, () => HashedPayload.hash(envelope, hasExecutionRequests, orderedTrieRoot));
  return hashed instanceof HashedPayload ? hashed : wrongHash(method, hashed, blockHash);
}

/**
 * The payload of a block whose transactions are known, and of which the engine has only told the header.
 *
 * @param encodedHeader RLP
 * @param transactionsRoot must be that of the transactions
 * @throws {EngineError} engine/bad-answer when the header does not commit to the transactions
 */
export function payloadFromHeader(
  method: string,
  encodedHeader: Uint8Array,
  transactions: readonly Uint8Array[],
  transactionsRoot: Uint8Array,
  forkTimes: ForkTimes,
): HashedPayload {
  return readAnswer(method, () => {
    const header = decodeHeader(encodedHeader);
    const hash = hashHeader(header);
    if (!equalBytes(transactionsRoot, header.transactionsRoot)) {
      throw new EngineError("engine/bad-answer", { method, block: bytesToHex(hash), mismatch: "transactions root" });
    }
    const { hasMessagePasserRoot } = rollupRulesAt(forkTimes, header.timestamp);
    const withdrawals = withdrawalsOf(method, { header, withdrawals: undefined }, hasMessagePasserRoot);
    return HashedPayload.of(headerToPayload(header, { transactions, withdrawals }, hash, hasMessagePasserRoot), header);
  });
}

/**
 * Checks a block object of the `eth_` namespace with full transactions.
 *
 * @throws {EngineError} engine/bad-answer
 */
export function payloadFromRpc(method: string, json: unknown, forkTimes: ForkTimes): HashedPayload {
  return readAnswer(method, () => {
    const block = blockFromRpc(json);
    const { header, hash, transactions } = block;
    assertHash(method, header, hash);
    if (!equalBytes(orderedTrieRoot(transactions.map(encodeTransaction)), header.transactionsRoot)) {
      throw new EngineError("engine/bad-answer", { method, block: bytesToHex(hash), mismatch: "transactions root" });
    }
    const { hasMessagePasserRoot } = rollupRulesAt(forkTimes, header.timestamp);
    const withdrawals = withdrawalsOf(method, block, hasMessagePasserRoot);
    return HashedPayload.of(blockToPayload({ header, transactions, ommers: [], withdrawals }, hash, hasMessagePasserRoot), header);
  });
}

/** The header of a block object and its hash, recomputed from its fields. @throws {EngineError} engine/bad-answer */
export function verifiedHeader(
  method: string,
  json: unknown,
  number: number | undefined,
): { readonly hash: Hex; readonly header: Header } {
  return readAnswer(method, () => {
    const header = headerFromRpc(json);
    const hash = statedHash(method, json);
    assertHash(method, header, hexToBytes(hash));
    if (number !== undefined && header.number !== number) {
      throw new EngineError("engine/bad-answer", { method, asked: number, got: header.number });
    }
    return { hash, header };
  });
}

/** The hash of a block object, recomputed from the fields of its header. @throws {EngineError} engine/bad-answer */
export const verifiedBlockHash = (method: string, json: unknown, number: number): Hex => verifiedHeader(method, json, number).hash;

/** The hash that a block object claims to have. @throws {EngineError} engine/bad-answer */
export function statedHash(method: string, json: unknown): Hex {
  return readAnswer(method, () =>
    bytesToHex(hexToFixedBytes(String((json as { readonly hash?: unknown } | null | undefined)?.hash), 32)),
  );
}

/** A malformed answer is the engine's fault: whatever the parsers throw becomes one error. */
export function readAnswer<T>(method: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!isCodedError(cause) || cause instanceof EngineError) throw cause;
    throw new EngineError("engine/bad-answer", { method, reason: cause.message }, { cause });
  }
}

function assertHash(method: string, header: Header, stated: Uint8Array): void {
  const computed = hashHeader(header);
  if (header.blockAccessListHash !== undefined) {
    const reason = "it has a blockAccessListHash and a slotNumber, which no L2 block has";
    throw new EngineError("engine/bad-answer", { method, block: bytesToHex(computed), reason });
  }
  if (!equalBytes(computed, stated)) wrongHash(method, computed, stated);
}

function wrongHash(method: string, computed: Uint8Array, stated: Uint8Array): never {
  throw new EngineError("engine/bad-answer", { method, stated: bytesToHex(stated), computed: bytesToHex(computed) });
}

/**
 * The withdrawals that the header commits to: no list before Canyon, and since then the empty list, as no L2 block has
 * had a withdrawal.
 */
function withdrawalsOf(
  method: string,
  { header, withdrawals = [] }: Pick<RpcBlock, "header" | "withdrawals">,
  hasMessagePasserRoot: boolean,
): RpcBlock["withdrawals"] {
  const root = hasMessagePasserRoot ? EMPTY_TRIE_ROOT : (header.withdrawalsRoot ?? EMPTY_TRIE_ROOT);
  if (!equalBytes(orderedTrieRoot(withdrawals.map(encodeWithdrawal)), root)) {
    throw new EngineError("engine/bad-answer", { method, number: header.number, mismatch: "withdrawals" });
  }
  return header.withdrawalsRoot === undefined ? undefined : withdrawals;
}
