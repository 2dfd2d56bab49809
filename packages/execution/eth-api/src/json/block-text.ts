import type { JsonText } from "@rnode/jsonrpc";
import { bytesToHex, decodeRlp, expectRlpList, toQuantity } from "@rnode/primitives";
import { hashHeader, headerFromRlp, withdrawalFromRlp, withdrawalToJson } from "@rnode/protocol";
import { type BlockParts, rlpDataStart, rlpEnd } from "@rnode/storage";
import type { Profile } from "../profile/profile.ts";
import { headerToJson } from "./block-json.ts";
import type { PartsWriter } from "./parts-writer.ts";

export interface BlockTextOptions {
  /** transactions as objects instead of hashes */
  readonly full: boolean;
  readonly totalDifficulty: bigint | undefined;
  /** hides the identity: hash, nonce and miner are null */
  readonly isPending: boolean;
}

/** A stored block as JSON text; `blockToJson` shows others in the same way. */
export function blockPartsText(
  writer: PartsWriter,
  profile: Profile,
  parts: BlockParts,
  { full, totalDifficulty, isPending }: BlockTextOptions,
): JsonText {
  const { rest } = parts;
  const [ommers = [], withdrawals] = expectRlpList(decodeRlp(rest));
  const head = {
    ...headerToJson(parts.header, parts.hash),
    ...(profile.block.hasTotalDifficulty && totalDifficulty !== undefined && { totalDifficulty: toQuantity(totalDifficulty) }),
    size: toQuantity(blockSize(parts)),
    uncles: expectRlpList(ommers).map((ommer) => bytesToHex(hashHeader(headerFromRlp(ommer)))),
    ...(isPending && { hash: null, nonce: null, miner: null }),
  };
  const { json } = writer.open(parts);
  json.text(JSON.stringify(head).slice(0, -1));
  json.text(',"transactions":');
  writer.transactions(full);
  if (withdrawals !== undefined) {
    json.text(',"withdrawals":');
    json.text(JSON.stringify(expectRlpList(withdrawals).map((item) => withdrawalToJson(withdrawalFromRlp(item)))));
  }
  json.text("}");
  return json.takeJson();
}

/** Size of the RLP of a block: [header, transactions, ommers, withdrawals?]. */
function blockSize({ headerSize, transactionBytes, rest }: BlockParts): number {
  return listSize(headerSize + listSize(transactionBytes) + rlpEnd(rest, 0) - rlpDataStart(rest, 0));
}

function listSize(payload: number): number {
  let size = payload + 1;
  if (payload > 55) for (let left = payload; left > 0; left = Math.floor(left / 256)) size++;
  return size;
}
