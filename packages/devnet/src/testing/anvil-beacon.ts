import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Hex, numberToHex } from "viem";
import { rpcCall } from "../rpc.ts";

/** Slots are a second long, so that each block of anvil has its own, whatever its block times were. */
export const SLOT_SEC = 1;

/**
 * A beacon node in front of anvil, which has blobs by block, not by slot: maps slots to blocks by their times. Queries select nothing,
 * and there are no sidecars, as in anvil.
 */
export async function startAnvilBeacon(anvilUrl: string): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { data } = (await (await fetch(`${anvilUrl}/eth/v1/beacon/genesis`)).json()) as { data: { genesis_time: string } };
  const genesisTimeSec = Number(data.genesis_time);
  const version = { data: { version: "anvil" } };

  async function answer(path: string): Promise<{ readonly status: number; readonly text: string }> {
    if (path === "/eth/v1/node/version") return { status: 200, text: JSON.stringify(version) };
    if (path === "/eth/v1/beacon/genesis") return { status: 200, text: JSON.stringify({ data }) };
    const slot = /^\/eth\/v1\/beacon\/blobs\/(\d+)$/.exec(path)?.[1];
    const hash = slot === undefined ? undefined : await blockAt(anvilUrl, genesisTimeSec + Number(slot) * SLOT_SEC);
    if (hash === undefined) return { status: 404, text: JSON.stringify({ code: 404, message: "not found" }) };
    const response = await fetch(`${anvilUrl}/eth/v1/beacon/blobs/${hash}`);
    return { status: response.status, text: await response.text() };
  }

  const server = createServer((request, response) => {
    answer(new URL(request.url!, "http://beacon").pathname).then(
      ({ status, text }) => response.writeHead(status, { "content-type": "application/json" }).end(text),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function blockAt(anvilUrl: string, timeSec: number): Promise<Hex | undefined> {
  for (let number = Number(await rpcCall<Hex>(anvilUrl, "eth_blockNumber")); number >= 0; number--) {
    const block = await rpcCall<{ hash: Hex; timestamp: Hex }>(anvilUrl, "eth_getBlockByNumber", [numberToHex(number), false]);
    if (Number(block.timestamp) === timeSec) return block.hash;
    if (Number(block.timestamp) < timeSec) return undefined;
  }
  return undefined;
}
