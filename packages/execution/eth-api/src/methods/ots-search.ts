import { equalBytes } from "@rnode/primitives";
import { otsReceipts } from "../json/ots-json.ts";
import { placeOf } from "../json/receipt-json.ts";
import { type JsonObject, transactionToJson } from "../json/transaction-json.ts";
import type { ExecutionSlot } from "../tracing/execution-slots.ts";
import { newFrameTracer, type PlacedFrame } from "../tracing/frame-tracer.ts";
import type { ReadServices } from "./services.ts";

export interface OtsSearch {
  readonly address: Uint8Array;
  /** 0: from the first or the newest block */
  readonly number: number;
  readonly pageSize: number;
  readonly isForward: boolean;
}

/**
 * A page of the transactions in which an address sends, receives, calls, is called or created, newest first. There is no index of them: block
 * after block is executed again, until the page is full or the request's time is over. A page ends with a block, so it can be longer than asked.
 */
export async function searchTransactions(services: ReadServices, slot: ExecutionSlot, search: OtsSearch): Promise<JsonObject> {
  const { chain, store } = services.backend;
  const { number: asked, pageSize, isForward } = search;
  const head = chain.head().number;
  const retained = store.retainedHistory();
  // the oldest block that can be executed again
  const oldest = Math.max(1, retained?.oldestReceipts ?? 0, (retained?.oldestState ?? 0) + 1);
  const start = isForward ? Math.max(oldest, asked + 1) : asked === 0 ? head : Math.min(head, asked - 1);
  const step = isForward ? 1 : -1;
  const found: { readonly tx: JsonObject; readonly receipt: JsonObject }[] = [];
  let number = start;
  for (; number >= oldest && number <= head && found.length < pageSize; number += step) {
    const own = await matchesOf(services, slot, number, search.address);
    found.push(...(isForward ? own : own.reverse()));
  }
  if (isForward) found.reverse();
  const isAtEnd = number < oldest || number > head;
  return {
    txs: found.map(({ tx }) => tx),
    receipts: found.map(({ receipt }) => receipt),
    firstPage: isForward ? isAtEnd : asked === 0,
    lastPage: isForward ? asked === 0 : isAtEnd,
  };
}

/** The matching transactions of a block, in its order. */
async function matchesOf({ backend, traces }: ReadServices, slot: ExecutionSlot, number: number, address: Uint8Array) {
  const stored = backend.chain.resolve({ kind: "number", number });
  if (stored === undefined) return [];
  const isOwn = (other: Uint8Array | undefined): boolean => other !== undefined && equalBytes(other, address);
  const traced = await traces.traceBlockIn(slot, stored, { newTracer: newFrameTracer });
  const matching = traced.filter(({ result }) =>
    (result as PlacedFrame[]).some(({ frame }) => isOwn(frame.from) || isOwn(frame.to)),
  );
  return matching.map(({ index }) => ({
    tx: transactionToJson(backend.profile, stored.block.transactions[index]!, stored.senders[index]!, {
      block: placeOf(stored),
      index,
      receipt: stored.receipts[index]!,
    }),
    receipt: otsReceipts(backend, stored, index)[0]!,
  }));
}
