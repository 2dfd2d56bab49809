import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPackage } from "../testing/built-package.ts";
import { CHAIN_ID, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

/** Logs 1 KiB again and again while there are more than 20,000 gas: JUMPDEST, LOG0 (0, 1024), JUMPI (0) if 20,000 < GAS. */
const LOUD = { address: `0x${"10".repeat(20)}`, code: "0x5b6104006000a05a614e2010600057" } as const;
const BATCH = 1000;
const LIMIT_EXCEEDED = -32005;

interface Answer {
  readonly result?: string;
  readonly error?: { readonly code: number };
}

describe("thousands of filters and blocks full of logs", () => {
  let node: TestClient;
  beforeAll(async () => {
    buildPackage();
    const own = ["--rpc.workers=1", "--rpc.workermemory=192"];
    node = await startTestClient(own, undefined, { alloc: { [LOUD.address]: { balance: "0x0", nonce: "0x1", code: LOUD.code } } });
  });
  afterAll(() => node.remove());

  const install = async (): Promise<Answer[]> => {
    const one = (id: number) => ({ jsonrpc: "2.0", id, method: "eth_newFilter", params: [{}] });
    const body = JSON.stringify(Array.from({ length: BATCH }, (_, id) => one(id)));
    const response = await fetch(node.httpUrl, { method: "POST", headers: { "content-type": "application/json" }, body });
    return (await response.json()) as Answer[];
  };

  it("do not end a reader: logs are kept once, and an address may have only so many filters", { tags: "long" }, async () => {
    const pids = node.client.readerPids();
    const first = await node.rpc.call<string>("eth_newFilter", [{}]);
    const answers = [];
    for (let batch = 0; batch < 3; batch++) answers.push(...(await install()));
    const refused = answers.filter(({ error }) => error?.code === LIMIT_EXCEEDED);
    expect(refused.length).toBeGreaterThanOrEqual(500);
    expect(refused.length).toBeLessThan(1000);

    const account = privateKeyToAccount(RICH_KEY);
    for (let nonce = 0; nonce < 6; nonce++) {
      const fees = { type: "eip1559", maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n } as const;
      const raw = await account.signTransaction({ chainId: CHAIN_ID, to: LOUD.address, gas: 5_000_000n, nonce, ...fees });
      await node.rpc.call("eth_sendRawTransaction", [raw]);
      await node.buildBlock();
    }
    const logs = await node.rpc.call<{ data: string }[]>("eth_getFilterChanges", [first]);
    expect(logs.length).toBeGreaterThan(3000);
    const other = answers.find(({ result }) => result !== undefined)!.result;
    expect(await node.rpc.call("eth_getFilterChanges", [other])).toEqual(logs);
    expect(await node.rpc.call("eth_getFilterChanges", [other])).toEqual([]);
    expect(node.client.readerPids()).toEqual(pids);
  });
});
