import { createServer } from "node:http";
import type { Socket } from "node:net";
import { brotliCompressSync, constants } from "node:zlib";
import { createRpcClient } from "@rnode/jsonrpc";
import type { Attacker } from "../attacker/attacker.ts";
import { quantity, times } from "../attacker/requests.ts";
import { acceptWebSocket, frame, OPCODE, openWebSocket, readMessages } from "../attacker/websocket.ts";
import type { Attack } from "./attack.ts";

/** The stream of subblocks: readers of the sequencer's, and a source that the verifier's execution client follows beside it. */

/** An address of its own, because streams limit connections by address. */
const HONEST_READER = "127.0.1.1";
/** A part comes every 200 ms, on a machine that does nothing else. */
const PART_LIMIT_MS = 15_000;

export const streamReaders: Attack = {
  name: "stream-readers",
  what: "300 readers of the stream of subblocks: half-open, silent, slow, and loud ones",
  bounds: { connections: 300 },
  async run({ subblocks: port }, attacker) {
    const loud = Buffer.concat(times(2_000, () => frame("p", { opcode: OPCODE.ping })));
    const endless = frame("[", { isLast: false });
    const lane = async (number: number): Promise<void> => {
      while (!attacker.signal.aborted) {
        const kind = number % 5;
        const socket = kind === 0 ? await attacker.connect(port) : await openWebSocket(attacker, port);
        attacker.count(socket === undefined ? "refused" : "served");
        if (socket === undefined) {
          await attacker.pause(100);
          continue;
        }
        if (kind === 0) attacker.send(socket, "GET / HTTP/1.1\r\nHost: x\r\nX-");
        else if (kind === 1) socket.pause();
        else if (kind === 2) attacker.send(socket, frame(Buffer.alloc(1 << 20, "x")));
        else if (kind === 3) attacker.send(socket, endless);
        for (let round = 0; kind === 4 && round < 50 && !socket.destroyed; round++) {
          if (!attacker.send(socket, loud)) await attacker.pause(20);
        }
        await Promise.race([new Promise((resolve) => socket.once("close", resolve)), attacker.pause(2_000)]);
        socket.destroy();
      }
    };
    await Promise.all([...times(299, lane), honestReader(port, attacker)]);
  },
};

/** Connects again and again, and must be served. */
async function honestReader(port: number, attacker: Attacker): Promise<void> {
  while (!attacker.signal.aborted) {
    const fromMs = performance.now();
    const parts = await nextMessage(port, attacker);
    const tookMs = performance.now() - fromMs;
    if (parts !== undefined) attacker.count("parts to the honest reader");
    else if (tookMs >= PART_LIMIT_MS) attacker.breach(`an honest reader got no part in ${PART_LIMIT_MS / 1_000} s`);
    await attacker.pause(200);
  }
}

/** The next part of the sequencer's stream; `undefined`: none in time, or the attack is over. */
async function nextMessage(port: number, attacker: Attacker): Promise<string | undefined> {
  const deadlineMs = performance.now() + PART_LIMIT_MS;
  while (!attacker.signal.aborted && performance.now() < deadlineMs) {
    const socket = await openWebSocket(attacker, port, [], HONEST_READER);
    if (socket === undefined) {
      await attacker.pause(100);
      continue;
    }
    const text = await new Promise<string | undefined>((resolve) => {
      readMessages(socket, (message) => resolve(message.toString("utf8")));
      socket.once("close", () => resolve(undefined));
      void attacker.pause(deadlineMs - performance.now()).then(() => resolve(undefined));
    });
    socket.destroy();
    if (text !== undefined) return text;
  }
  return undefined;
}

type Part = Record<string, unknown> & {
  payload_id: string;
  index: number;
  diff: Record<string, unknown>;
  base?: Record<string, unknown>;
};

const bytes = (length: number): string => `0x${"5a".repeat(length)}`;
const text = (part: Part): Buffer => frame(JSON.stringify(part), { isMasked: false });
const binary = (data: Uint8Array): Buffer => frame(data, { opcode: OPCODE.binary, isMasked: false });
const otherId = (random: Attacker["random"]): string =>
  quantity(random(2 ** 31))
    .slice(2)
    .padStart(16, "0")
    .replace(/^/, "0x");
const bomb = (megabytes: number): Buffer =>
  brotliCompressSync(Buffer.alloc(megabytes << 20, " "), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

/** What the source sends when the sequencer publishes a part. */
const SENT: readonly ((part: Part, random: Attacker["random"]) => readonly Buffer[])[] = [
  (part) => [text({ ...part, diff: { ...part.diff, receipts_root: bytes(32) } })],
  (part) => [text({ ...part, diff: { ...part.diff, gas_used: "0xffffffffffffffff" } })],
  (part, random) => [text({ ...part, payload_id: otherId(random) })],
  (part, random) => times(50, () => text({ ...part, payload_id: otherId(random), index: 0 })),
  (part) => times(500, () => text(part)),
  (part) => [text({ ...part, index: part.index + 5 }), text({ ...part, index: 999 })],
  (part) => [text({ ...part, diff: { ...part.diff, transactions: [bytes(40), bytes(0), "0x7eff"] } })],
  (part) => [text({ ...part, diff: { ...part.diff, transactions: times(2_000, () => bytes(100)) } })],
  (part) => [text({ ...part, diff: { ...part.diff, transactions: [bytes(8 << 20)] } })],
  (part, random) => [
    text({
      ...part,
      payload_id: otherId(random),
      index: 0,
      base: { ...part.base, block_number: "0x1fffffffffffff" },
      metadata: { block_number: 2 ** 53 - 1 },
    }),
  ],
  () => times(5_000, () => frame("{}", { isMasked: false })),
  () => [
    frame(`{"diff":${"[".repeat(200_000)}`, { isMasked: false }),
    frame(Buffer.from([0x7b, 0xff, 0xfe, 0xc0]), { isMasked: false }),
  ],
  () => [
    frame('{"payload_id":1e999,"index":-1}', { isMasked: false }),
    binary(Buffer.alloc(1 << 16, 0xff)),
    binary(bomb(512)),
    ...times(50, () => binary(bomb(23))),
  ],
  () => [
    frame("{", { isMasked: false, isLast: false }),
    ...times(50_000, () => frame("", { isMasked: false, isLast: false, opcode: OPCODE.continuation })),
  ],
  () => [frame("{}", { isMasked: false, claimedLength: 0x7fff_ffff_ffff_ffffn })],
  () => [frame("{}", { isMasked: false, reservedBits: 7 })],
  () => times(20_000, () => frame("p", { isMasked: false, opcode: OPCODE.ping })),
  () => [frame(Buffer.alloc(23 << 20, "{"), { isMasked: false }).subarray(0, 1_000)],
  () => [Buffer.alloc(1 << 16, 0x37)],
];
const QUIET_MS = 2_000;
const LOUD_MS = 2_000;

let follower: Socket | undefined;

export const hostileStream: Attack = {
  name: "hostile-stream",
  what: "a source of subblocks with wrong roots, replays, gaps, floods, huge parts, bombs and broken frames",
  bounds: { connections: 4 },
  /** The client tries to connect every few seconds. */
  async prepare(attacker) {
    const server = createServer();
    server.on("upgrade", (request, socket) => {
      socket.on("error", () => {});
      follower?.destroy();
      follower = socket as Socket;
      acceptWebSocket(request, follower);
      attacker.count("connections of the follower");
    });
    server.listen(attacker.target.hostileStream, attacker.target.host);
    for (let waitedMs = 0; follower === undefined && waitedMs < 30_000; waitedMs += 50) await attacker.pause(50);
    return [];
  },
  async run({ subblocks, verifierHttp, http }, attacker) {
    const clients = { verifier: rpc(verifierHttp), sequencer: rpc(http) };
    let quietUntilMs = 0;
    const attack = async (): Promise<void> => {
      for (let round = attacker.random(SENT.length); !attacker.signal.aborted; round++) {
        const last = await nextMessage(subblocks, attacker);
        if (last === undefined) return;
        const messages = SENT[round % SENT.length]!(JSON.parse(last) as Part, attacker.random);
        if (performance.now() < quietUntilMs || follower === undefined || follower.destroyed) {
          await attacker.pause(50);
          continue;
        }
        attacker.count("messages", messages.length);
        for (const message of messages) if (!attacker.send(follower, message)) await attacker.pause(5);
        if (attacker.random(2) === 0) follower.end(); // the client connects again
      }
    };
    const watch = async (): Promise<void> => {
      while (!attacker.signal.aborted) {
        await attacker.pause(LOUD_MS);
        quietUntilMs = performance.now() + QUIET_MS;
        await compareHeads(clients, attacker);
      }
    };
    await Promise.all([attack(), watch()]);
    for (const client of Object.values(clients)) await client.close();
  },
};

const rpc = (port: number) => createRpcClient({ url: `http://127.0.0.1:${port}` });
interface Clients {
  readonly verifier: ReturnType<typeof rpc>;
  readonly sequencer: ReturnType<typeof rpc>;
}

/** `latest` of the verifier is a block of the sequencer. The client may be busy; the monitor measures that. */
async function compareHeads({ verifier, sequencer }: Clients, attacker: Attacker): Promise<void> {
  interface Head {
    readonly number: string;
    readonly hash: string;
  }
  try {
    const head = await verifier.call<Head>("eth_getBlockByNumber", ["latest", false]);
    const same = await sequencer.call<Head | null>("eth_getBlockByNumber", [head.number, false]);
    if (same !== null && same.hash !== head.hash)
      attacker.breach(`latest is ${head.hash}, the sequencer's block ${head.number} is ${same.hash}`);
    attacker.count("heads compared");
  } catch {
    attacker.count("heads not compared");
  }
}
