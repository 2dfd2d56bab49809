import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { bytesToHex, toQuantity } from "@rnode/primitives";
import { hashTransaction, recoverSender } from "@rnode/protocol";
import type { L1Block } from "./catchup-chain.ts";

export interface L1Server {
  readonly url: string;
  /** how often each method was called */
  readonly calls: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

interface Request {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Serves L1 blocks over HTTP, each answer after `latencyMs`. The answers are made once: what is measured is who asks. */
export async function serveL1(blocks: readonly L1Block[], chainId: bigint, latencyMs: number): Promise<L1Server> {
  const answers = new Map<string, string>();
  const put = (method: string, id: string, result: unknown): void => void answers.set(`${method} ${id}`, JSON.stringify(result));
  for (const block of blocks) {
    const number = toQuantity(block.header.number);
    const json = blockJson(block, false);
    const full = blockJson(block, true);
    put("eth_getBlockByNumber", `${number} false`, json);
    put("eth_getBlockByNumber", `${number} true`, full);
    put("eth_getBlockByHash", `${block.hash} false`, json);
    put("eth_getBlockByHash", `${block.hash} true`, full);
    put("eth_getBlockReceipts", block.hash, receiptsJson(block));
    for (const tag of ["latest", "safe", "finalized"]) put("eth_getBlockByNumber", `${tag} false`, json);
  }
  const calls = new Map<string, number>();
  const answer = ({ id, method, params }: Request): string => {
    calls.set(method, (calls.get(method) ?? 0) + 1);
    const result =
      method === "eth_chainId" ? `"${toQuantity(chainId)}"` : (answers.get(`${method} ${params.map(String).join(" ")}`) ?? "null");
    return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
  };
  const server = createServer((request, response) => {
    void (async () => {
      const asked = JSON.parse(await bodyOf(request)) as Request | Request[];
      const text = Array.isArray(asked) ? `[${asked.map(answer).join(",")}]` : answer(asked);
      if (latencyMs > 0) await sleep(latencyMs);
      response.setHeader("content-type", "application/json");
      response.end(text);
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

function blockJson({ hash, header, transactions }: L1Block, full: boolean): object {
  return {
    hash,
    parentHash: bytesToHex(header.parentHash),
    sha3Uncles: bytesToHex(header.ommersHash),
    miner: bytesToHex(header.beneficiary),
    stateRoot: bytesToHex(header.stateRoot),
    transactionsRoot: bytesToHex(header.transactionsRoot),
    receiptsRoot: bytesToHex(header.receiptsRoot),
    logsBloom: bytesToHex(header.logsBloom),
    difficulty: "0x0",
    number: toQuantity(header.number),
    gasLimit: toQuantity(header.gasLimit),
    gasUsed: toQuantity(header.gasUsed),
    timestamp: toQuantity(header.timestamp),
    extraData: bytesToHex(header.extraData),
    mixHash: bytesToHex(header.mixHash),
    nonce: bytesToHex(header.nonce),
    baseFeePerGas: toQuantity(header.baseFeePerGas!),
    withdrawalsRoot: bytesToHex(header.withdrawalsRoot!),
    blobGasUsed: toQuantity(header.blobGasUsed!),
    excessBlobGas: toQuantity(header.excessBlobGas!),
    parentBeaconBlockRoot: bytesToHex(header.parentBeaconBlockRoot!),
    requestsHash: bytesToHex(header.requestsHash!),
    withdrawals: [],
    uncles: [],
    transactions: transactions.map((transaction, index) =>
      full
        ? {
            blockHash: hash,
            blockNumber: toQuantity(header.number),
            transactionIndex: toQuantity(index),
            hash: bytesToHex(hashTransaction(transaction)),
            from: bytesToHex(recoverSender(transaction)),
            type: "0x2",
            chainId: toQuantity(transaction.chainId),
            nonce: toQuantity(transaction.nonce),
            maxPriorityFeePerGas: toQuantity(transaction.maxPriorityFeePerGas),
            maxFeePerGas: toQuantity(transaction.maxFeePerGas),
            gas: toQuantity(transaction.gasLimit),
            to: bytesToHex(transaction.to!),
            value: toQuantity(transaction.value),
            input: bytesToHex(transaction.data),
            accessList: [],
            r: bytesToHex(transaction.signature!.r),
            s: bytesToHex(transaction.signature!.s),
            yParity: toQuantity(transaction.signature!.yParity),
            v: toQuantity(transaction.signature!.yParity),
          }
        : bytesToHex(hashTransaction(transaction)),
    ),
  };
}

function receiptsJson({ hash, header, transactions, receipts }: L1Block): object[] {
  return receipts.map((receipt, index) => ({
    blockHash: hash,
    blockNumber: toQuantity(header.number),
    transactionHash: bytesToHex(hashTransaction(transactions[index]!)),
    transactionIndex: toQuantity(index),
    type: "0x2",
    status: "0x1",
    cumulativeGasUsed: toQuantity(receipt.cumulativeGasUsed),
    gasUsed: toQuantity(1_000_000),
    logsBloom: bytesToHex(receipt.bloom),
    logs: [],
  }));
}
