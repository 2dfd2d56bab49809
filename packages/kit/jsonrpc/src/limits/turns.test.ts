import { setImmediate } from "node:timers/promises";
import { silentLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { ClientConnection } from "../http/client-connection.ts";
import { createDispatcher } from "../methods/dispatcher.ts";
import { DEFAULT_RPC_LIMITS } from "../rpc-server.ts";
import { GO_DIALECT } from "../wire/dialect.ts";
import { method, param } from "../wire/method-table.ts";
import { textShape } from "../wire/shape.ts";
import { Turns } from "./turns.ts";

describe("turns", () => {
  it("are one in each turn of the event loop, of the client that has had least time", async () => {
    const turns = new Turns();
    const order: string[] = [];
    const work = async (name: string, client: ClientConnection, slices: number): Promise<void> => {
      for (let slice = 0; slice < slices; slice++) {
        await turns.next(client);
        order.push(name);
        turns.charge(client, 10);
      }
    };
    const greedy = new ClientConnection("http", "1.1.1.1");
    const all = [work("a", greedy, 4), work("b", greedy, 4), work("other", new ClientConnection("ws", "2.2.2.2"), 3)];
    await setImmediate();
    expect(order.length).toBeLessThanOrEqual(1);
    await Promise.all(all);
    // One client of two has every other turn, however many requests the other has.
    expect(order.slice(0, 6).filter((name) => name === "other")).toHaveLength(3);
  });
});

it("large requests are read in turns, small ones at once, those of clients that have gone not at all", async () => {
  const sizes: number[] = [];
  const methods = {
    test_size: method({ params: [param("text", textShape)], handler: ([text]) => sizes.push(text.length) }),
  };
  const dispatcher = createDispatcher({ dialect: GO_DIALECT, limits: DEFAULT_RPC_LIMITS, log: silentLogger });
  const ask = (size: number, client: ClientConnection) =>
    dispatcher.handle(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "test_size", params: ["x".repeat(size)] }), methods, client);
  const [client, gone] = [new ClientConnection("http", "1.1.1.1"), new ClientConnection("http", "1.1.1.1")];
  const large = [ask(300_000, client), ask(300_001, gone), ask(300_002, client)];
  gone.leave();
  expect(ask(5, client)).toBe('{"jsonrpc":"2.0","id":1,"result":1}');
  for (const answer of large) await answer;
  expect(sizes).toEqual([5, 300_000, 300_002]);
});
