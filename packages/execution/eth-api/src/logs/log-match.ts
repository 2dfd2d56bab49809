import type { StoredBlock } from "@rnode/chain";
import { equalBytes } from "@rnode/primitives";
import { bloomMayContain, type Header, hashTransaction, type Log } from "@rnode/protocol";
import { type LogPlace, logToJson, placeOf } from "../json/receipt-json.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import type { LogCriteria } from "../params/log-filter.ts";

/** Whether the bloom filter of a header allows matching logs in the block. */
export function mayHaveLogs(header: Pick<Header, "logsBloom">, { addresses, topics }: LogCriteria): boolean {
  const bloomHasOne = (values: readonly Uint8Array[] | undefined): boolean =>
    values === undefined || values.some((value) => bloomMayContain(header.logsBloom, value));
  return bloomHasOne(addresses) && topics.every(bloomHasOne);
}

export function matchesLog(log: Log, { addresses, topics }: LogCriteria): boolean {
  if (!isOneOf(log.address, addresses) || log.topics.length < topics.length) return false;
  for (let position = 0; position < topics.length; position++) {
    if (!isOneOf(log.topics[position]!, topics[position])) return false;
  }
  return true;
}

function isOneOf(value: Uint8Array, wanted: readonly Uint8Array[] | undefined): boolean {
  if (wanted === undefined) return true;
  for (const candidate of wanted) if (equalBytes(candidate, value)) return true;
  return false;
}

/** The matching logs of a block, in order. */
export function logsOfBlock(stored: StoredBlock, criteria: LogCriteria, removed = false): JsonObject[] {
  const found: JsonObject[] = [];
  eachMatch(stored, criteria, (log, place) => found.push(logToJson(log, place(), removed)));
  return found;
}

/**
 * The same as JSON texts. PERF: the texts are cached with the log; making them is most of the work of a query.
 *
 * @param from index of the first transaction whose logs are wanted
 */
export function logTextsOfBlock(stored: StoredBlock, criteria: LogCriteria, from = 0): string[] {
  const found: string[] = [];
  const visit = (log: Log, place: () => LogPlace): void => {
    let known = texts.get(log);
    if (known?.stored !== stored) texts.set(log, (known = { stored, text: JSON.stringify(logToJson(log, place())) }));
    found.push(known.text);
  };
  eachMatch(stored, criteria, visit, from);
  return found;
}
const texts = new WeakMap<Log, { readonly stored: StoredBlock; readonly text: string }>();

/** @param visit gets a function for the log's place, because computing the place requires hashing the transaction */
function eachMatch(stored: StoredBlock, criteria: LogCriteria, visit: (log: Log, place: () => LogPlace) => void, from = 0): void {
  if (!mayHaveLogs(stored.block.header, criteria)) return;
  let logIndex = 0;
  let transactionIndex = 0;
  const place = (): LogPlace => ({
    block: placeOf(stored),
    transactionHash: hashTransaction(stored.block.transactions[transactionIndex]!),
    transactionIndex,
    logIndex,
  });
  for (const { logs } of stored.receipts) {
    for (const log of logs) {
      if (transactionIndex >= from && matchesLog(log, criteria)) visit(log, place);
      logIndex++;
    }
    transactionIndex++;
  }
}
