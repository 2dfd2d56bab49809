import { flashblockMetadataOf, flashblockOf, type PendingBlock } from "@rnode/chain";
import { booleanShape, JsonText, optionalParam, subscription } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import { encodeFlashblock, hashTransaction } from "@rnode/protocol";
import { type ReadBackend, rulesAt } from "../backend/backend.ts";
import { madeOnce } from "../backend/made-once.ts";
import { type PendingBlocks, partsOfPending } from "../backend/pending-blocks.ts";
import { PartsWriter } from "../json/parts-writer.ts";
import { logTextsOfBlock } from "../logs/log-match.ts";
import { checkFilterRange } from "../logs/log-query.ts";
import { ALL_LOGS, isWithinRange, logFilterShape } from "../params/log-filter.ts";

/**
 * The subscriptions to blocks under construction, of a node that has a stream of them. Each part is told once. A transaction is told again with
 * the part of another payload, for instance that of a new leader. Spec: docs/guide/subblocks.md#what-clients-see
 */
export function partSubscriptions(backend: ReadBackend, pending: PendingBlocks) {
  const writer = new PartsWriter({ profile: backend.profile, rulesOf: (parts) => rulesAt(backend, parts) });
  const transactionTextsOf = madeOnce((part: PendingBlock) =>
    addedBy(part).map((_, index) => {
      writer.open(partsOfPending(part)).transactionWithLogs(part.earlier + index);
      return writer.json.takeJson();
    }),
  );
  return {
    newFlashblocks: subscription({
      params: [],
      summary: "Each part of a block under construction, as the stream of flashblocks has it.",
      start: (_, sink) => onPart(pending, (part) => sink.notifyEach(() => [flashblockTextOf(part)])),
    }),
    newFlashblockTransactions: subscription({
      params: [optionalParam("full", booleanShape)],
      summary:
        "The transactions of each part of a block under construction: hashes, or objects with their logs when `full` is true.",
      start: ([full], sink) => onPart(pending, (part) => sink.notifyEach(() => (full ? transactionTextsOf : hashTextsOf)(part))),
    }),
    pendingLogs: subscription({
      params: [optionalParam("filter", logFilterShape)],
      summary: "Matching logs of each part of a block under construction, before the block.",
      start: ([filter = ALL_LOGS], sink) => {
        checkFilterRange(backend, filter);
        return onPart(pending, (part) => {
          if (!isWithinRange(filter, part.block.header.number)) return;
          sink.notifyEach(() => logTextsOfBlock(part, filter, part.earlier).map((text) => new JsonText(text)));
        });
      },
    }),
  };
}

const onPart = (pending: PendingBlocks, listener: (part: PendingBlock) => void): (() => void) =>
  pending.onChange((part) => {
    if (part !== undefined) listener(part);
  });

const addedBy = ({ block, earlier }: PendingBlock) => block.transactions.slice(earlier);

const flashblockTextOf = madeOnce(
  (part: PendingBlock) => new JsonText(encodeFlashblock(flashblockOf(part), flashblockMetadataOf(part))),
);
const hashTextsOf = madeOnce((part: PendingBlock) =>
  addedBy(part).map((transaction) => new JsonText(`"${bytesToHex(hashTransaction(transaction))}"`)),
);
