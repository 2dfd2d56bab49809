import { CodedError, EMPTY_BYTES, EMPTY_OMMERS_HASH, EMPTY_REQUESTS_HASH } from "@rnode/primitives";
import type { Block, Header } from "../blocks/block.ts";
import { encodeWithdrawal } from "../blocks/block-codec.ts";
import { hashHeader } from "../blocks/header-codec.ts";
import type { ExecutionPayload, ExecutionPayloadEnvelope } from "../blocks/payload.ts";
import { type ForkTimes, rollupRulesAt } from "../forks/fork-times.ts";
import { encodeTransaction } from "../transactions/transaction-codec.ts";

export type PayloadErrorCode = "payload/not-post-merge";

const ZERO_NONCE = new Uint8Array(8);

/**
 * The payload of a block. Spec: docs/protocol/01-execution.md#header-rlp-and-payload-mapping
 *
 * @param hash the block's hash
 * @param hasOpWithdrawalsRoot from Isthmus on, the header's withdrawals root is a storage root and part of the payload
 * @throws {CodedError} payload/not-post-merge if the header has no base fee
 */
export function blockToPayload(block: Block, hash: Uint8Array, hasOpWithdrawalsRoot: boolean): ExecutionPayloadEnvelope {
  const { header, transactions, withdrawals } = block;
  return headerToPayload(header, { transactions: transactions.map(encodeTransaction), withdrawals }, hash, hasOpWithdrawalsRoot);
}

/**
 * Like `blockToPayload`, for a header and its body.
 *
 * @throws {CodedError} payload/not-post-merge if the header has no base fee
 */
export function headerToPayload(
  header: Header,
  { transactions, withdrawals }: Pick<ExecutionPayload, "transactions" | "withdrawals">,
  hash: Uint8Array,
  hasOpWithdrawalsRoot: boolean,
): ExecutionPayloadEnvelope {
  if (header.baseFeePerGas === undefined)
    throw new CodedError<PayloadErrorCode>("payload/not-post-merge", { number: header.number });
  return {
    executionPayload: {
      parentHash: header.parentHash,
      feeRecipient: header.beneficiary,
      stateRoot: header.stateRoot,
      receiptsRoot: header.receiptsRoot,
      logsBloom: header.logsBloom,
      prevRandao: header.mixHash,
      blockNumber: header.number,
      gasLimit: header.gasLimit,
      gasUsed: header.gasUsed,
      timestamp: header.timestamp,
      exact: header.exact,
      extraData: header.extraData,
      baseFeePerGas: header.baseFeePerGas,
      blockHash: hash,
      transactions,
      withdrawals,
      blobGasUsed: header.blobGasUsed,
      excessBlobGas: header.excessBlobGas,
      withdrawalsRoot: hasOpWithdrawalsRoot ? header.withdrawalsRoot : undefined,
    },
    parentBeaconBlockRoot: header.parentBeaconBlockRoot,
  };
}

/**
 * The header of a payload's block; its hash is not compared with `blockHash`.
 *
 * @param requestsHash the constant from Isthmus (Prague), `undefined` before
 * @param orderedTrieRoot root of the trie of a list's items under their RLP indices
 */
export function payloadToHeader(
  envelope: ExecutionPayloadEnvelope,
  requestsHash: Uint8Array | undefined,
  orderedTrieRoot: (encodedItems: readonly Uint8Array[]) => Uint8Array,
): Header {
  const payload = envelope.executionPayload;
  return {
    parentHash: payload.parentHash,
    ommersHash: EMPTY_OMMERS_HASH,
    beneficiary: payload.feeRecipient,
    stateRoot: payload.stateRoot,
    transactionsRoot: orderedTrieRoot(payload.transactions),
    receiptsRoot: payload.receiptsRoot,
    logsBloom: payload.logsBloom,
    difficulty: 0n,
    number: payload.blockNumber,
    gasLimit: payload.gasLimit,
    gasUsed: payload.gasUsed,
    timestamp: payload.timestamp,
    exact: payload.exact,
    extraData: payload.extraData.length === 0 ? EMPTY_BYTES : payload.extraData,
    mixHash: payload.prevRandao,
    nonce: ZERO_NONCE,
    baseFeePerGas: payload.baseFeePerGas,
    withdrawalsRoot: payload.withdrawalsRoot ?? (payload.withdrawals && orderedTrieRoot(payload.withdrawals.map(encodeWithdrawal))),
    blobGasUsed: payload.blobGasUsed,
    excessBlobGas: payload.excessBlobGas,
    parentBeaconBlockRoot: envelope.parentBeaconBlockRoot,
    requestsHash,
  };
}

/**
 * The hash of a payload's content; its `blockHash` is not used. From Isthmus on, the header commits to the message passer's root
 * instead of the list of withdrawals.
 *
 * @param orderedTrieRoot root of the trie of a list's items under their RLP indices
 */
export function payloadHash(
  forkTimes: ForkTimes,
  envelope: ExecutionPayloadEnvelope,
  orderedTrieRoot: (encodedItems: readonly Uint8Array[]) => Uint8Array,
): Uint8Array {
  const { hasExecutionRequests } = rollupRulesAt(forkTimes, envelope.executionPayload.timestamp);
  return hashHeader(payloadToHeader(envelope, hasExecutionRequests ? EMPTY_REQUESTS_HASH : undefined, orderedTrieRoot));
}
