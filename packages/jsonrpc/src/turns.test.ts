import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ClientConnection } from "./client-connection.ts";
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
