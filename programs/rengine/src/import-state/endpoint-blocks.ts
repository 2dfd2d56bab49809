import { createRpcClient } from "@rnode/jsonrpc";
import { bytesToHex, isCodedError } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { blockFromRpc, receiptFromRpc } from "@rnode/protocol";
import type { BlockSource } from "@rnode/snapshot";

/** Beyond any block of an OP Stack chain. */
const MAX_ANSWER_BYTES = 128 << 20;
const TIMEOUT_MS = 30_000;
const TRIES = 3;
const FIRST_PAUSE_MS = 250;

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
    async blockOf(hash) {
      for (let failures = 0; ; ) {
        try {
          return await fetched(bytesToHex(hash));
        } catch (cause) {
          if (!isCodedError(cause)) throw cause;
          if (++failures === TRIES) throw new UserError(`${url}: ${cause.message}`, { cause });
          await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** failures));
        }
      }
    },
    close: () => client.close(),
  };
}
