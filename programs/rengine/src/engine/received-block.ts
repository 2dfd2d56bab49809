import { type Chain, PreparedBlock, type SenderSource } from "@rnode/chain";
import { decodeTransaction, type ExecutionPayloadEnvelope, payloadToHeader } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";

export interface ReceivedBlockSources {
  readonly chain: Pick<Chain, "preparedBlockOf" | "readAhead">;
  readonly senders: Pick<SenderSource, "recoverAhead">;
}

/**
 * The block that a payload describes. If its transactions are those of a block that was built here or received before
 * (`payloadFromJson` has compared them), they are not decoded again and their root is not computed again. The block's hash is not
 * compared with `blockHash`.
 *
 * @throws {CodedError} tx/*
 */
export async function receivedBlock(
  envelope: ExecutionPayloadEnvelope,
  requestsHash: Uint8Array | undefined,
  { chain, senders }: ReceivedBlockSources,
): Promise<PreparedBlock> {
  const { blockHash, transactions: encoded, withdrawals } = envelope.executionPayload;
  const executed = chain.preparedBlockOf(blockHash);
  const known = executed?.encodedTransactions === encoded ? executed : undefined;
  const transactions = known?.block.transactions ?? encoded.map(decodeTransaction);
  if (known === undefined) chain.readAhead(transactions, undefined);
  const recovered = known?.senders ?? senders.recoverAhead(transactions);
  // PERF: this runs while worker threads recover the senders
  const header = payloadToHeader(envelope, requestsHash, (items) =>
    items === known?.encodedTransactions ? known.transactionsRoot : orderedTrieRoot(items),
  );
  const { transactionsRoot } = header;
  const found = await recovered;
  if (known === undefined && found !== undefined) chain.readAhead(transactions, found);
  return new PreparedBlock({ header, transactions, ommers: [], withdrawals }, { transactionsRoot, senders: found });
}
