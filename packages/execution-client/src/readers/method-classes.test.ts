import { NAMESPACES } from "@rnode/eth-api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestClient, type TestClient } from "../testing/test-client.ts";
import { CLASSED_METHODS, classOfMethod } from "./method-classes.ts";

let node: TestClient;
let served: string[];
beforeAll(async () => {
  node = await startTestClient([`--http.api=${NAMESPACES.join(",")}`, "--rollup.enable-tx-conditional"]);
  const { methods } = await node.rpc.call<{ methods: { name: string }[] }>("rpc.discover");
  served = methods.map(({ name }) => name);
});
afterAll(() => node.remove());

describe("the classes of methods", () => {
  it("say of every method where it runs", () => {
    expect(served.length).toBeGreaterThan(100);
    expect(served.filter((name) => classOfMethod(name) === undefined)).toEqual([]);
  });

  it("name no method that is not there", () => {
    expect(CLASSED_METHODS.filter((name) => !served.includes(name))).toEqual([]);
  });
});
