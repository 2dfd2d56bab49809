import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { afterEach } from "vitest";
import { CHAIN_ID, RICH_KEY, startTestClient, type TestClient } from "./test-client.ts";

/** An unused account. */
export const OTHER = `0x${"00".repeat(19)}aa` as const;
const RICH = privateKeyToAccount(RICH_KEY);

/** A raw transaction, by default a transfer of nothing from the rich account. */
export const signTransfer = (nonce: number, fields: object = {}, account: PrivateKeyAccount = RICH): Promise<`0x${string}`> =>
  account.signTransaction({
    chainId: CHAIN_ID,
    type: "eip1559",
    gas: 21_000n,
    maxFeePerGas: 2_000_000_000n,
    nonce,
    to: OTHER,
    ...fields,
  });

export interface ClientsOfTest {
  readonly start: typeof startTestClient;
  /** For a client that the test itself has closed, because another one works in its folder. */
  readonly forget: (client: TestClient) => void;
}

/** Call it once per test file. The clients that a test starts end after it, the last one first, and their folders are deleted. */
export function clientsOfTest(): ClientsOfTest {
  const started: TestClient[] = [];
  afterEach(async () => {
    for (const client of started.splice(0).reverse()) await client.remove();
  });
  return {
    start: async (...args) => {
      const client = await startTestClient(...args);
      started.push(client);
      return client;
    },
    forget: (client) => void started.splice(started.indexOf(client), 1),
  };
}
