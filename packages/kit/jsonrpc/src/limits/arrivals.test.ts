import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { silentLogger } from "@rnode/observe";
import { describe, expect, it, onTestFinished } from "vitest";
import { createRpcServer } from "../rpc-server.ts";
import { method } from "../wire/method-table.ts";
import { Arrivals } from "./arrivals.ts";

describe("work", () => {
  it("is done in the next turn, all of it, when nobody comes", async () => {
    const arrivals = new Arrivals();
    const done: string[] = [];
    arrivals.afterwards(() => {
      done.push("first");
      arrivals.afterwards(() => done.push("added"));
    });
    arrivals.afterwards(() => done.push("second"));
    await turn();
    expect(done).toEqual(["first", "second"]);
    await turn();
    expect(done).toEqual(["first", "second", "added"]);
  });

  it("waits while connections come, but not for ever", async () => {
    const arrivals = new Arrivals();
    let turns = 0;
    const waited: number[] = [];
    arrivals.afterwards(() => waited.push(turns));
    for (; waited.length === 0 && turns < 100; turns++) {
      arrivals.accepted();
      await turn();
    }
    expect(waited).toHaveLength(1);
    expect(waited[0]).toBeGreaterThan(4);
    expect(waited[0]).toBeLessThan(50);
    arrivals.afterwards(() => waited.push(turns));
    arrivals.accepted();
    await turn();
    expect(waited).toHaveLength(1);
    await turn();
    expect(waited).toHaveLength(2);
  });
});

it("a newcomer behind many connections with long requests has waited for few of those", async () => {
  const GREEDY = 40;
  let begun = 0;
  const server = createRpcServer({
    http: { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    methods: {
      test_long: method({
        params: [],
        handler() {
          begun++;
          for (const endMs = performance.now() + 3; performance.now() < endMs; );
          return 1;
        },
      }),
      test_short: method({ params: [], handler: () => begun }),
    },
  });
  const { httpPort } = await server.listen();
  onTestFinished(() => server.close());
  const open = (localAddress: string): Socket => {
    const socket = connect({ host: "127.0.0.1", port: httpPort!, localAddress });
    onTestFinished(() => void socket.destroy());
    return socket.on("error", () => {});
  };
  const post = (body: string): string =>
    `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const call = (name: string): string => `{"jsonrpc":"2.0","id":1,"method":"${name}"}`;
  const batch = post(`[${Array.from({ length: 20 }, () => call("test_long")).join(",")}]`);
  const sockets = Array.from({ length: GREEDY }, () => open("127.0.0.2"));
  // They are connected before the event loop accepts the first.
  for (const socket of sockets) socket.write(batch);
  const newcomer = open("127.0.0.3");
  newcomer.write(post(call("test_short")));
  const [answer] = (await once(newcomer, "data")) as [Buffer];
  const seen = Number(/"result":(\d+)/.exec(answer.toString())?.[1]);
  // one at least in each turn, if only one of them came in with each
  expect(seen).toBeLessThan(GREEDY / 2);
});
