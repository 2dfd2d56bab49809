import { once } from "node:events";
import type { PendingBlock } from "@rnode/chain";
import { createRpcServer } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { parseChainConfig } from "@rnode/protocol";
import { expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import type { ReadBackend } from "../backend/backend.ts";
import { PendingBlocks } from "../backend/pending-blocks.ts";
import { PROFILE_R } from "../profile/profile-r.ts";
import { feeTransaction, JOVIAN_CONFIG, storedBlock } from "../testing/blocks.ts";
import { partSubscriptions } from "./part-subscriptions.ts";

const MAX_BUFFERED_BYTES = 1_000_000;
const LOG = { address: new Uint8Array(20), topics: [], data: new Uint8Array(50_000) };
/** the buffers of the system take some megabytes */
const MOST_PARTS = 1_000;
const PATIENCE = { timeout: 60_000, interval: 1 };

/** A part with a log of 100 kB of text. */
const part = (index: number): PendingBlock => {
  const changes = { accounts: [], codes: [] };
  return { ...storedBlock([feeTransaction()], { logs: [[LOG]] }), payloadId: "0x0300000000000001", index, earlier: 0, changes };
};

it.each([
  ["pendingLogs", "{}"],
  ["newFlashblockTransactions", "true"],
  ["newFlashblocks", "null"],
])("a client that does not read what %s tells is disconnected, and others are told on", async (kind, filter) => {
  const pending = new PendingBlocks();
  const chain = { config: parseChainConfig(JOVIAN_CONFIG), head: () => ({ number: 0, hash: "0x" }) };
  const backend = { profile: PROFILE_R, chain, pending } as unknown as ReadBackend;
  const subscriptions = { eth: partSubscriptions(backend, pending) };
  const server = createRpcServer({
    ws: { host: "127.0.0.1", port: 0, subscriptions },
    methods: {},
    limits: { maxBufferedBytes: MAX_BUFFERED_BYTES },
    log: silentLogger,
  });
  const { wsPort } = await server.listen();
  onTestFinished(() => server.close());
  const subscriber = async (): Promise<{ socket: WebSocket; told: () => number }> => {
    const socket = new WebSocket(`ws://127.0.0.1:${wsPort}`);
    onTestFinished(() => socket.terminate());
    await once(socket, "open");
    let told = -1; // the answer
    socket.on("message", () => told++);
    socket.send(`{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["${kind}",${filter}]}`);
    await vi.waitFor(() => expect(told).toBe(0), PATIENCE);
    return { socket, told: () => told };
  };
  const [slow, quick] = [await subscriber(), await subscriber()];
  const closed = once(slow.socket, "close");
  slow.socket.pause();
  let sent = 0;
  for (let open = 2; open > 1 && sent < MOST_PARTS; [open = 0] = (await server.connections()) as [number]) {
    pending.set(part(sent++));
    await vi.waitFor(() => expect(quick.told()).toBe(sent), PATIENCE);
  }
  expect(sent).toBeLessThan(MOST_PARTS);
  slow.socket.resume();
  await closed;
  expect(slow.told()).toBeLessThan(sent);
});
