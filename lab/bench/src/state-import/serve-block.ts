import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import { type Header, hashHeader } from "@rnode/protocol";

/** JSON-RPC has other names for some fields. */
const RPC_NAMES: Readonly<Record<string, string>> = {
  ommersHash: "sha3Uncles",
  beneficiary: "miner",
};

export interface BlockServer {
  readonly url: string;
  readonly blockHash: Hex;
  close(): void;
}

/** An endpoint that has one block without transactions. */
export async function serveBlock(header: Header): Promise<BlockServer> {
  const blockHash = bytesToHex(hashHeader(header));
  const fields = Object.entries(header).map(([name, value]: [string, Uint8Array | bigint | number]) => [
    RPC_NAMES[name] ?? name,
    value instanceof Uint8Array ? bytesToHex(value) : toQuantity(value),
  ]);
  const block = { ...Object.fromEntries(fields), hash: blockHash, size: "0x0", transactions: [], uncles: [], withdrawals: [] };
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id: number; method: string };
      const result = method === "eth_getBlockReceipts" ? [] : block;
      response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, blockHash, close: () => void server.close() };
}
