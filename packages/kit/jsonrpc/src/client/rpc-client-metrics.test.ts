import { createMetrics } from "@rnode/observe";
import { expect, it } from "vitest";
import type { RpcClient } from "../wire/rpc-client-types.ts";
import { RpcError } from "../wire/rpc-error.ts";
import { createRpcClientMetrics } from "./rpc-client-metrics.ts";

it("counts and times calls and batches, and passes everything on", async () => {
  const metrics = createMetrics({ prefix: "t_", ofProcess: false });
  const answers: RpcClient = {
    endpoint: "http://l1",
    connectionsLost: 3,
    call: async <T>(method: string) => {
      if (method === "refused") throw new RpcError(-32000, "no");
      if (method === "lost") throw new Error("no answer");
      return method as T;
    },
    batch: async (calls) => calls.map(({ method }) => ({ kind: "result", result: method })),
    close: async () => {},
  };
  const client = createRpcClientMetrics(metrics).counting(answers, "l1");
  expect([client.endpoint, client.connectionsLost, "subscribe" in client]).toEqual(["http://l1", 3, false]);
  expect(await client.call("a")).toBe("a");
  await expect(client.call("refused")).rejects.toThrow("no");
  await expect(client.call("lost")).rejects.toThrow("no answer");
  expect(await client.batch([{ method: "a" }, { method: "b" }])).toHaveLength(2);
  const { body } = await metrics.expose();
  for (const line of [
    't_rpc_client_requests_total{method="a",server="l1"} 2',
    't_rpc_client_requests_total{method="<batch>",server="l1"} 1',
    't_rpc_client_responses_total{method="a",server="l1",error="<nil>"} 2',
    't_rpc_client_responses_total{method="refused",server="l1",error="rpc"} 1',
    't_rpc_client_responses_total{method="lost",server="l1",error="transport"} 1',
    't_rpc_client_request_duration_seconds_count{method="lost",server="l1"} 1',
  ]) {
    expect(body.split("\n")).toContain(line);
  }
});
