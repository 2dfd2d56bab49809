import { afterEach, describe, expect, it } from "vitest";
import { startTestClient, type TestClient } from "../testing/test-client.ts";

const started: TestClient[] = [];
const start = async (...args: Parameters<typeof startTestClient>): Promise<TestClient> => {
  const node = await startTestClient(...args);
  started.push(node);
  return node;
};
afterEach(async () => {
  for (const node of started.splice(0).reverse()) await node.remove();
});

describe("readers", () => {
  it("serve the chain", async () => {
    const node = await start(["--rpc.workers=2"]);
    expect(await node.rpc.call("eth_blockNumber")).toBe("0x0");
    const { hash } = await node.buildBlock();
    expect(await node.rpc.call("eth_getBlockByNumber", ["latest", false])).toMatchObject({ hash });
  });
});
