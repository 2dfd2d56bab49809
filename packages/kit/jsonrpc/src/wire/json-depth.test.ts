import { silentLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { NO_CLIENT } from "../http/client-connection.ts";
import { createDispatcher } from "../methods/dispatcher.ts";
import { DEFAULT_RPC_LIMITS } from "../rpc-server.ts";
import { GO_DIALECT } from "./dialect.ts";
import { hasMoreValues } from "./json-depth.ts";
import { method, optionalParam } from "./method-table.ts";
import { anyJson } from "./shape.ts";

const objectOf = (members: number): string => `{${Array.from({ length: members }, (_, index) => `"k${index}":0`).join(",")}}`;

describe("the number of values", () => {
  it.each([
    [objectOf(1000), false],
    [objectOf(1001), true],
    [`[${objectOf(500)},${objectOf(501)}]`, true],
    [`["${"x".repeat(100_000)}",${objectOf(3)}]`, false],
    [`[${"[],".repeat(999)}[]]`, false],
    [`[${"[],".repeat(1000)}[]]`, true],
    [`[[${"0,".repeat(499)}0],[${"0,".repeat(500)}0]]`, true],
  ])("is counted over all objects and lists (case %#)", (text, isMore) => {
    expect(hasMoreValues(text, 1000)).toBe(isMore);
  });

  it("is bounded in requests, before they are parsed", async () => {
    const methods = {
      test_count: method({ params: [optionalParam("given", anyJson)], handler: ([given]) => Object.keys(given as object).length }),
    };
    const limits = { ...DEFAULT_RPC_LIMITS, maxValues: 1000 };
    const dispatcher = createDispatcher({ dialect: GO_DIALECT, limits, log: silentLogger });
    const ask = (members: number) =>
      dispatcher.handle(`{"jsonrpc":"2.0","id":1,"method":"test_count","params":[${objectOf(members)}]}`, methods, NO_CLIENT);
    expect(await ask(900)).toContain('"result":900');
    expect(await ask(1000)).toContain("more than 1000 members of objects and elements of lists");
  });
});
