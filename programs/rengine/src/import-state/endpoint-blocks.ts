import { createRpcClient } from "@rnode/jsonrpc";
import { Backoff, bytesToHex, isCodedError, retry, toQuantity } from "@rnode/primitives";
import { systemClock, UserError } from "@rnode/program";
import { blockFromRpc, hashHeader, headerFromRpc, receiptFromRpc } from "@rnode/protocol";
import type { BlockRecord } from "@rnode/snapshot";
import type { Blocks, HashedHeader } from "./block-source.ts";

/** Beyond any block of an OP Stack chain. */
const MAX_ANSWER_BYTES = 128 << 20;
const TIMEOUT_MS = 30_000;
const TRIES = 3;
const PAUSES = { firstMs: 500, maxMs: 1_000 };
const NEVER = new AbortController().signal;
/** Blocks that are asked for at the same time. */
const PARALLEL = 8;
/** Blocks whose headers are listed: those of the last hours. */
const LISTED_BLOCKS = 20_000;

/** Blocks with their receipts, from an execution client, which is asked again when it fails. */
export function endpointBlocks(url: string, signal: AbortSignal = NEVER): Blocks {
  const client = createRpcClient({ url, timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_ANSWER_BYTES });
  const fetched = async (method: string, id: string): Promise<BlockRecord | undefined> => {
    const [block, receipts] = await Promise.all([client.call(method, [id, true]), client.call("eth_getBlockReceipts", [id])]);
    if (block === null) return undefined;
    if (!Array.isArray(receipts)) throw new UserError(`${url}: it has block ${id}, and not its receipts`);
    const { header, transactions, withdrawals } = blockFromRpc(block);
    return {
      block: { header, transactions, ommers: [], ...(withdrawals !== undefined && { withdrawals }) },
      receipts: receipts.map((receipt) => receiptFromRpc(receipt).receipt),
    };
  };
  const withRetries = <T>(call: () => Promise<T>): Promise<T> =>
    retry(call, {
      backoff: new Backoff(PAUSES),
      clock: systemClock,
      signal,
      onFailure: (cause, _, failures) => {
        if (!isCodedError(cause)) throw cause;
        if (failures === TRIES) throw new UserError(`${url}: ${cause.message}`, { cause });
      },
    });
  const tried = (method: string, id: string): Promise<BlockRecord | undefined> => withRetries(() => fetched(method, id));
  const header = (id: string): Promise<HashedHeader | undefined> =>
    withRetries(async () => {
      const block = await client.call("eth_getBlockByNumber", [id, false]);
      if (block === null) return undefined;
      const found = headerFromRpc(block);
      return { header: found, hash: hashHeader(found) };
    });
  const numbered = async (number: number): Promise<BlockRecord> => {
    const record = await tried("eth_getBlockByNumber", toQuantity(number));
    if (record === undefined) throw new UserError(`${url}: it has no block ${number}`);
    return record;
  };
  return {
    hasReceipts: true,
    blockOf: (hash) => tried("eth_getBlockByHash", bytesToHex(hash)),
    async range(first, last) {
      const records: BlockRecord[] = [];
      for (let number = first; number <= last; number += PARALLEL) {
        const count = Math.min(PARALLEL, last - number + 1);
        records.push(...(await Promise.all(Array.from({ length: count }, (_, i) => numbered(number + i)))));
      }
      return records;
    },
    async *headers() {
      const latest = await header("latest");
      if (latest === undefined) throw new UserError(`${url}: it has no block`);
      yield latest;
      const oldest = Math.max(0, latest.header.number - LISTED_BLOCKS);
      for (let next = latest.header.number - 1; next >= oldest; next -= PARALLEL) {
        const numbers = Array.from({ length: Math.min(PARALLEL, next - oldest + 1) }, (_, i) => next - i);
        for (const found of await Promise.all(numbers.map((number) => header(toQuantity(number))))) {
          if (found === undefined) return;
          yield found;
        }
      }
    },
    close: () => client.close(),
  };
}
