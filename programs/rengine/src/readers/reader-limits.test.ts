import { DEFAULT_RPC_LIMITS } from "@rnode/jsonrpc";
import { describe, expect, it } from "vitest";
import { limitsOfReader } from "./reader-limits.ts";

describe("what readers may hold in memory", () => {
  it.each([1, 2, 15])("is the same for %d of them together", (count) => {
    const { server, maxWaitingBytes } = limitsOfReader({ costly: { maxWaiting: 512, maxWaitingBytes: 64 << 20 } }, count);
    const isShared = (part: number, whole: number): void => {
      expect(part * count).toBeGreaterThanOrEqual(whole);
      expect(part * count).toBeLessThan(whole + count);
    };
    isShared(server.maxUnsentBytes, DEFAULT_RPC_LIMITS.maxUnsentBytes);
    isShared(server.maxIncomingBytes, DEFAULT_RPC_LIMITS.maxIncomingBytes);
    isShared(maxWaitingBytes, 64 << 20);
  });

  it("has no limit if the option has none", () => {
    expect(limitsOfReader({ costly: { maxWaiting: 1, maxWaitingBytes: Number.POSITIVE_INFINITY } }, 2).maxWaitingBytes).toBe(
      Number.POSITIVE_INFINITY,
    );
  });
});
