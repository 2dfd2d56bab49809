import { CLIENT_GONE, ClientConnection, LIMIT_EXCEEDED, NO_CLIENT, param, textShape } from "@rnode/jsonrpc";
import { describe, expect, it } from "vitest";
import { type ApiMethods, method, methodsInWriter } from "./method.ts";
import type { ReadServices, WriteServices } from "./services.ts";

const CONTEXT = NO_CLIENT;
const params = [param("a", textShape)] as const;
const writer = { setMinimumTip: () => {} } as unknown as WriteServices;

describe("the methods in the process that owns the chain", () => {
  const call = (methods: ApiMethods): unknown => methodsInWriter(methods, writer).x_y!.handler(["given"], CONTEXT);

  it("get its own things where they run there only", () => {
    const own = method({ runs: "writer", params, handler: ([a], given) => [a, given === writer] });
    expect(call({ x_y: own })).toEqual(["given", true]);
  });

  it("run as they are when they run in the reader or where the filter is", () => {
    const inReader = method({ runs: "reader", cost: "cheap", params, handler: ([a], context) => [a, context] });
    const inOwner = method({ runs: "filter-owner", params, handler: ([a], context) => [a, context] });
    for (const own of [inReader, inOwner]) expect(call({ x_y: own })).toEqual(["given", CONTEXT]);
  });

  it("end costly work when its client has gone", () => {
    const client = new ClientConnection("http", "");
    const costly = method({
      runs: "reader",
      cost: "search",
      params,
      handler: ([a], work, context) => {
        work.check();
        return [a, context === client];
      },
    });
    const run = () => methodsInWriter({ x_y: costly }, writer).x_y!.handler(["given"], client);
    expect(run()).toEqual(["given", true]);
    client.leave();
    expect(run).toThrow(CLIENT_GONE);
  });

  it("end costly work that has burned all the gas it may", () => {
    const burns = method({
      runs: "reader",
      cost: "call",
      params,
      handler: (_, work) => {
        work.burn(600n);
        work.check();
        work.burn(600n);
        work.check();
        return "done";
      },
    });
    const run = (maxGas?: bigint) => methodsInWriter({ x_y: burns }, writer, maxGas).x_y!.handler(["given"], CONTEXT);
    expect(run()).toBe("done");
    expect(run(1200n)).toBe("done");
    expect(() => run(1199n)).toThrow(
      expect.objectContaining({
        code: LIMIT_EXCEEDED,
        message:
          "the request has burned 1200 gas, and 1199 is all that one may burn, everything it executes taken together (--rpc.max-gas-per-request): ask for less at a time",
      }),
    );
  });

  it.each([null, "0x", "found"])("find in its memory what is not there for a reader: %j", async (found) => {
    for (const handler of [() => found, async () => found]) {
      const both = method({ runs: "reader-first", params, handler, inWriter: ([a], given) => [a, given === writer] });
      expect(await call({ x_y: both })).toEqual(found === "found" ? found : ["given", true]);
      expect(await call({ x_y: method({ runs: "reader-first", params, handler }) })).toBe(found);
    }
  });
});

describe("a declaration", () => {
  it("does not compile where a reader's method wants what only the writer has", () => {
    const inReader = (services: ReadServices): unknown => [
      // @ts-expect-error the writable chain is not one of the read services
      services.chain,
      // @ts-expect-error the second argument is the request's context
      method({ runs: "reader", cost: "cheap", params, handler: (_, { setMinimumTip }) => setMinimumTip(1n) }),
      // @ts-expect-error only `reader-first` looks in the writer's memory
      method({ runs: "reader", cost: "cheap", params, handler: () => null, inWriter: () => null }),
      // @ts-expect-error a method that runs in the reader must state its cost
      method({ runs: "reader", params, handler: () => null }),
      // @ts-expect-error a cheap method has no permission to work for long
      method({ runs: "reader", cost: "cheap", params, handler: (_, work) => work.check() }),
      // @ts-expect-error a method has to say where it runs
      method({ params, handler: () => null }),
    ];
    expect(inReader).toBeTypeOf("function");
  });
});
