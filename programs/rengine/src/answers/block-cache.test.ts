import { describe, expect, it } from "vitest";
import { GENESIS_TIME_SEC, startTestClient } from "../testing/test-client.ts";

interface BlockJson {
  readonly hash: `0x${string}`;
  readonly transactions: unknown[];
}

describe("blocks that are kept decoded", () => {
  it("follow a reorganisation: by number, by tag, by transaction", async () => {
    const node = await startTestClient();
    try {
      const byNumber = (number: string, full = true) => node.rpc.call<BlockJson | null>("eth_getBlockByNumber", [number, full]);
      const genesis = (await byNumber("0x0"))!;
      const parent = { hash: genesis.hash, timestampSec: GENESIS_TIME_SEC };
      const first = await node.buildBlock({ parent });
      const [before, latest] = [(await byNumber("0x1"))!, await byNumber("latest")];
      expect(before.hash).toBe(first.hash);
      expect(latest).toEqual(before);
      expect(await byNumber("0x1")).toEqual(before);
      expect((await byNumber("0x1", false))!.transactions).toEqual([(before.transactions[0] as BlockJson).hash]);
      const { hash: old } = before.transactions[0] as BlockJson;
      expect(await node.rpc.call("eth_getTransactionByHash", [old])).toMatchObject({ blockHash: first.hash });

      const second = await node.buildBlock({ parent });
      expect(second.hash).not.toBe(first.hash);
      expect((await byNumber("0x1"))!.hash).toBe(second.hash);
      expect((await byNumber("latest"))!.hash).toBe(second.hash);
      expect(await node.rpc.call("eth_getTransactionByHash", [old])).toBeNull();
      expect(await node.rpc.call("eth_getBalance", [`0x${"00".repeat(20)}`, "latest"])).toBe("0x0");
      await node.buildBlock();
      expect((await byNumber("0x1"))!.hash).toBe(second.hash);
      expect((await byNumber("latest"))!.hash).not.toBe(second.hash);
    } finally {
      await node.remove();
    }
  });
});
