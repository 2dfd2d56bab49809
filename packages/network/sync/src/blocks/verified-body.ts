import { checkBodyBelongs, describeFault, PreparedBlock, rulesOfBlock } from "@rnode/chain";
import { encodeRlpListOfEncoded, equalBytes, isCodedError, readRlpSpan } from "@rnode/primitives";
import { type Block, type ChainConfig, decodeBlock } from "@rnode/protocol";
import type { HashedHeader } from "../headers/verified-header.ts";

/** A block whose body matches its header; not executed. */
export interface VerifiedBlock {
  readonly block: Block;
  /** root of exactly these transactions */
  readonly transactionsRoot: Uint8Array;
  readonly sizeBytes: number;
}

/**
 * Finds the header of a body by the transactions root, and checks the header's other commitments: the ommers and the withdrawals.
 *
 * @param headers not empty
 * @param encoded RLP of `[transactions, ommers, withdrawals?]`
 * @returns the block and the index of its header, or the error
 */
export function verifiedBody(
  config: ChainConfig,
  headers: readonly HashedHeader[],
  encoded: Uint8Array,
): { readonly index: number; readonly block: VerifiedBlock } | string {
  let decoded: Block;
  try {
    const body = readRlpSpan(encoded, 0);
    if (!body.isList || body.end !== encoded.length) return "it is not one list";
    decoded = decodeBlock(encodeRlpListOfEncoded([headers[0]!.rlp, encoded.subarray(body.dataStart, body.end)]));
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return error.message;
  }
  const { transactionsRoot } = new PreparedBlock(decoded);
  const index = headers.findIndex(({ header }) => equalBytes(header.transactionsRoot, transactionsRoot));
  if (index < 0) return "it has another transactions root";
  const { header, rlp } = headers[index]!;
  const block: Block = { ...decoded, header };
  const fault = checkBodyBelongs(rulesOfBlock(config, header), new PreparedBlock(block, { transactionsRoot }));
  if (fault !== undefined) return describeFault(fault);
  return { index, block: { block, transactionsRoot, sizeBytes: rlp.length + encoded.length } };
}
