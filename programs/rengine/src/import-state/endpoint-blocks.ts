import { createRpcClient } from "@rnode/jsonrpc";
import { Backoff, bytesToHex, isCodedError, retry } from "@rnode/primitives";
import { systemClock, UserError } from "@rnode/program";
import { blockFromRpc, receiptFromRpc } from "@rnode/protocol";
import type { BlockSource } from "@rnode/snapshot";

/** Beyond any block of an OP Stack chain. */
const MAX_ANSWER_BYTES = 128 << 20;
const TIMEOUT_MS = 30_000;
const TRIES = 3;
const PAUSES = { firstMs: 500, maxMs: 1_000 };
const NEVER = new AbortController().signal;

export interface EndpointBlocks {
  /** @throws {UserError} naming the endpoint, after several tries */
  readonly blockOf: BlockSource;
  close(): Promise<void>;
}

/** Blocks with their receipts, from an execution client. */
export function endpointBlocks(url: string): EndpointBlocks {
  const client = createRpcClient({ url, timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_ANSWER_BYTES });
  const fetched = async (hash: string) => {
    const [block, receipts] = await Promise.all([
      client.call("eth_getBlockByHash", [hash, true]),
      client.call("eth_getBlockReceipts", [hash]),
    ]);
    if (block === null) return undefined;
    if (!Array.isArray(receipts)) throw new UserError(`${url}: it has block ${hash}, and not its receipts`);
    const { header, transactions, withdrawals } = blockFromRpc(block);
    return {
      block: { header, transactions, ommers: [], ...(withdrawals !== undefined && { withdrawals }) },
      receipts: receipts.map((receipt) => receiptFromRpc(receipt).receipt),
    };
  };
  return {
    blockOf: (hash) =>
      retry(() => fetched(bytesToHex(hash)), {
        backoff: new Backoff(PAUSES),
        clock: systemClock,
        signal: NEVER,
        onFailure: (cause, _, failures) => {
          if (!isCodedError(cause)) throw cause;
          if (failures === TRIES) throw new UserError(`${url}: ${cause.message}`, { cause });
        },
      }),
    close: () => client.close(),
  };
}
