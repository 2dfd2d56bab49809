import { param, textShape } from "@rnode/jsonrpc";
import { describe, expect, it } from "vitest";
import { type ApiMethods, method, methodsInWriter } from "./method.ts";
import type { ReadServices, WriteServices } from "./services.ts";

const CONTEXT = { transport: "http", remoteAddress: "" } as const;
const params = [param("a", textShape)] as const;
const writer = { setMinimumTip: () => {} } as unknown as WriteServices;

describe("the methods in the process that owns the chain", () => {
  const call = (methods: ApiMethods): unknown => methodsInWriter(methods, writer).x_y!.handler(["given"], CONTEXT);

  it("get its own things where they run there only", () => {
    const own = method({ runs: "writer", params, handler: ([a], given) => [a, given === writer] });
    expect(call({ x_y: own })).toEqual(["given", true]);
  });

  it.each(["reader", "filter-owner"] as const)("run as they are when they run in the %s", (runs) => {
    expect(call({ x_y: method({ runs, params, handler: ([a], context) => [a, context] }) })).toEqual(["given", CONTEXT]);
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
      method({ runs: "reader", params, handler: (_, { setMinimumTip }) => setMinimumTip(1n) }),
      // @ts-expect-error only `reader-first` looks in the writer's memory
      method({ runs: "reader", params, handler: () => null, inWriter: () => null }),
      // @ts-expect-error a method has to say where it runs
      method({ params, handler: () => null }),
    ];
    expect(inReader).toBeTypeOf("function");
  });
});
