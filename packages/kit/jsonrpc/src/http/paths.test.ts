import { silentLogger } from "@rnode/observe";
import { expect, it, onTestFinished } from "vitest";
import { createRpcServer } from "../rpc-server.ts";
import { type MethodTable, method } from "../wire/method-table.ts";

it("serves other methods at a path of their own, and nothing at an unknown one", async () => {
  const say = (what: string): MethodTable => ({ test_say: method({ params: [], handler: () => what }) });
  const paths = new Map([
    ["/901", say("901")],
    ["/902", { ...say("902"), test_more: method({ params: [], handler: () => "more" }) }],
  ]);
  const server = createRpcServer({ http: { host: "127.0.0.1", port: 0, paths }, methods: say("root"), log: silentLogger });
  const { httpPort } = await server.listen();
  onTestFinished(() => server.close());
  const ask = async (path: string, name: string) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: name, params: [] });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`http://127.0.0.1:${httpPort}${path}`, { method: "POST", headers, body });
    return { status: response.status, text: await response.text() };
  };
  for (const [path, what] of [
    ["", "root"],
    ["/901", "901"],
    ["/902", "902"],
  ] as const) {
    expect(JSON.parse((await ask(path, "test_say")).text)).toMatchObject({ result: what });
  }
  expect(JSON.parse((await ask("/902", "test_more")).text)).toMatchObject({ result: "more" });
  expect(JSON.parse((await ask("/901", "test_more")).text)).toMatchObject({ error: { code: -32601 } });
  expect((await ask("/903", "test_say")).status).toBe(404);
});
