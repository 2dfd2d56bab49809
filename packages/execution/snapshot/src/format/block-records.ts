import { decodeRlp, encodeRlp, expectRlpList, expectRlpString, isCodedError } from "@rnode/primitives";
import { type Block, decodeBlock, decodeReceipt, encodeBlock, encodeReceipt, type Receipt } from "@rnode/protocol";
import { falseContent } from "../errors.ts";

/** The content of block frames, one after the other: for each block, RLP of [block as a string, [receipts as strings]]. */
export interface BlockRecord {
  readonly block: Block;
  readonly receipts: readonly Receipt[];
}

/** The nonce of a deposit is in the receipts root only since Canyon. Before, it cannot be verified, so it is omitted. */
const encodeChecked = (receipt: Receipt): Uint8Array => encodeReceipt(receipt, "root");

export const encodeBlockRecord = ({ block, receipts }: BlockRecord): Uint8Array =>
  encodeRlp([encodeBlock(block), receipts.map(encodeChecked)]);

export const encodeBlockRecords = (records: readonly Uint8Array[]): Uint8Array => encodeRlp([...records]);

/** @throws {CodedError} snapshot/false-content */
export function decodeBlockRecords(content: Uint8Array): BlockRecord[] {
  try {
    return expectRlpList(decodeRlp(content)).map((record) => {
      const [block, receipts] = expectRlpList(decodeRlp(expectRlpString(record)), 2, 2);
      return {
        block: decodeBlock(expectRlpString(block)),
        receipts: expectRlpList(receipts).map((item) => decodeReceipt(expectRlpString(item))),
      };
    });
  } catch (cause) {
    if (!isCodedError(cause)) throw cause;
    throw falseContent(`a block cannot be decoded: ${cause.message}`);
  }
}
