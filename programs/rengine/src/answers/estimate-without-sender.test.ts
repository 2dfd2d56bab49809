import { toQuantity } from "@rnode/primitives";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DevClient, startDevTestClient } from "../testing/dev-client.ts";
import { RICH_ADDRESS, startTestClient, type TestClient } from "../testing/test-client.ts";

const TO = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const POOR = `0x${"ab".repeat(20)}`;
const ETHER = 10n ** 18n;
/** initcode that reverts unless it is sent at least one ether: PUSH8 1e18 CALLVALUE LT PUSH1 15 JUMPI STOP … JUMPDEST revert */
const WANTS_ETHER = "0x670de0b6b3a76400003410600f57005b5f5ffd";

describe.each(["dev", "R", "G"] as const)("estimates without a sender (%s)", (kind) => {
  let client: DevClient | TestClient;
  beforeAll(async () => {
    client = kind === "dev" ? await startDevTestClient() : await startTestClient([`--profile=${kind}`]);
  });
  afterAll(() => client.close());
  const estimate = (call: object, ...more: unknown[]): Promise<string> => client.rpc.call("eth_estimateGas", [call, ...more]);

  const VALUES = [0n, 1n, ETHER, 10n ** 30n];
  const FEES = [{}, { maxFeePerGas: toQuantity(10n ** 11n) }, { gasPrice: toQuantity(10n ** 13n) }];
  it.each(VALUES.flatMap((value) => FEES.map((fees) => [value, fees] as const)))(
    "a transfer of %s with fees %j",
    async (value, fees) => {
      expect(await estimate({ to: TO, value: toQuantity(value), ...fees })).toBe("0x5208");
      expect(await estimate({ to: TO, value: toQuantity(value), ...fees }, "latest")).toBe("0x5208");
    },
  );

  it("contract code sees the value", async () => {
    const gas = await estimate({ data: WANTS_ETHER, value: toQuantity(ETHER) });
    expect(BigInt(gas)).toBeGreaterThan(53_000n);
    await expect(estimate({ data: WANTS_ETHER, value: toQuantity(ETHER - 1n) })).rejects.toThrow(/revert/);
  });

  it("with a sender, its funds count", async () => {
    await expect(estimate({ from: POOR, to: TO, value: toQuantity(ETHER) })).rejects.toThrow(/funds/i);
    if (kind !== "dev") expect(await estimate({ from: RICH_ADDRESS, to: TO, value: toQuantity(ETHER) })).toBe("0x5208");
    const zero = `0x${"00".repeat(20)}`;
    await expect(estimate({ from: zero, to: TO, value: toQuantity(10n ** 30n) })).rejects.toThrow(/funds/i);
  });
});
