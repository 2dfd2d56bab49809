import { createRpcClient } from "@rnode/jsonrpc";
import { Backoff, bytesToHex, isCodedError, retry, toQuantity } from "@rnode/primitives";
import { systemClock, UserError } from "@rnode/program";
import { blockFromRpc, receiptFromRpc } from "@rnode/protocol";
import type { BlockRecord } from "@rnode/snapshot";
import type { Blocks } from "./block-source.ts";

/** Beyond any block of an OP Stack chain. */
const MAX_ANSWER_BYTES = 128 << 20;
const TIMEOUT_MS = 30_000;
const TRIES = 3;
const PAUSES = { firstMs: 500, maxMs: 1_000 };
const NEVER = new AbortController().signal;
/** Blocks that are asked for at the same time. */
const PARALLEL = 8;

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
  const tried = (method: string, id: string): Promise<BlockRecord | undefined> =>
    retry(() => fetched(method, id), {
      backoff: new Backoff(PAUSES),
      clock: systemClock,
      signal,
      onFailure: (cause, _, failures) => {
        if (!isCodedError(cause)) throw cause;
        if (failures === TRIES) throw new UserError(`${url}: ${cause.message}`, { cause });
      },
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
    close: () => client.close(),
  };
}
