import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestClient, type TestClient } from "../testing/test-client.ts";

let node: TestClient;
beforeAll(async () => {
  node = await startTestClient();
});
afterAll(() => node.remove());

const ask = async (query: string) => {
  const response = await fetch(`${node.httpUrl}/readyz${query}`);
  const { reasons } = (await response.json()) as { readonly reasons: readonly string[] };
  return { status: response.status, reasons };
};

it("tells balancers on the RPC port whether the head is new enough", async () => {
  expect((await ask("")).reasons).toEqual(["it waits for the rollup node, which has not used the Engine API yet"]);
  const { number } = await node.buildBlock(); // two seconds after a genesis of long ago
  expect(await ask("")).toEqual({ status: 200, reasons: [] });
  expect(await ask("?max-lag-blocks=0")).toEqual({ status: 200, reasons: [] });
  const old = await ask("?max-age=60");
  expect(old.status).toBe(503);
  expect(old.reasons).toEqual([expect.stringMatching(new RegExp(`^its head ${number} is \\d+ s old, more than 60 s$`))]);
  expect(await ask("?max-age=soon")).toEqual({ status: 400, reasons: ['max-age is "soon": give a whole number of seconds'] });
});
