import { assemble } from "@rnode/eth-api/testing";
import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import { encodeTransaction, type FeeMarketTransaction, signTransaction } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COUNTER_CREATION } from "../testing/counter.ts";
import { CHAIN_ID, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

const OTHER = "0x00000000000000000000000000000000000000aa";
const NONE = "0x00000000000000000000000000000000000000bb";

let node: TestClient;
let nonce = 0n;
let counter: Hex;

async function send(fields: Partial<FeeMarketTransaction>): Promise<Hex> {
  const transaction: FeeMarketTransaction = {
    type: 0x02,
    chainId: BigInt(CHAIN_ID),
    nonce: nonce++,
    gasLimit: 1_000_000n,
    to: undefined,
    value: 0n,
    data: new Uint8Array(0),
    maxPriorityFeePerGas: 1n,
    maxFeePerGas: 10n ** 10n,
    accessList: [],
    ...fields,
  };
  const raw = bytesToHex(encodeTransaction(signTransaction(transaction, hexToBytes(RICH_KEY))));
  return node.rpc.call<Hex>("eth_sendRawTransaction", [raw]);
}

beforeAll(async () => {
  node = await startTestClient();
  const hash = await send({ data: hexToBytes(COUNTER_CREATION) });
  await node.buildBlock();
  ({ contractAddress: counter } = await node.rpc.call<{ contractAddress: Hex }>("eth_getTransactionReceipt", [hash]));
});
afterAll(() => node.remove());

/** Code that returns words, each preceded by the remaining gas, which would reveal what an earlier call has warmed. */
const returning = (...words: string[]): string => {
  const stores = words.flatMap((word, index) => [`GAS ${64 * index} MSTORE`, `${word} ${64 * index + 32} MSTORE`]);
  return bytesToHex(assemble(`${stores.join(" ")} ${64 * words.length} 0 RETURN`));
};
const callOf = (address: string, data = ""): string => `${data} 0 0 ${data === "" ? 0 : 1} 0 0 ${address} GAS CALL`;
/** Init code for a contract of one byte, STOP: PUSH1 0, PUSH1 0, MSTORE8, PUSH1 1, PUSH1 0, RETURN. */
const CREATE = "0x600060005360016000f3 0 MSTORE 10 22 0 CREATE";

const calls = (): Record<string, unknown>[] => [
  { data: returning(`0x${counter.slice(2)} BALANCE`, `0x${counter.slice(2)} EXTCODEHASH`) },
  { data: returning(callOf(counter), callOf(counter), `0x${counter.slice(2)} EXTCODESIZE`) },
  { to: counter, data: "0x00" },
  { to: counter },
  { to: counter, data: "0x01" },
  { to: counter, data: "0x00", gas: "0x5500" },
  { data: returning("1 7 TSTORE 7 TLOAD", "7 TLOAD") },
  { data: returning("7 TLOAD", "5 SLOAD", "9 5 SSTORE 5 SLOAD") },
  { data: returning(CREATE, `${CREATE} EXTCODEHASH`, "ADDRESS EXTCODESIZE") },
  { data: returning(`${OTHER} BALANCE`, `${NONE} EXTCODEHASH`, "SELFBALANCE"), value: "0x5", from: RICH_ADDRESS },
  { data: bytesToHex(assemble(`${OTHER} SELFDESTRUCT`)), value: "0x7", from: RICH_ADDRESS },
  { to: OTHER, value: "0x10", from: RICH_ADDRESS },
  { data: returning(`${OTHER} BALANCE`, "CALLER BALANCE", "BASEFEE", "GASLIMIT", "NUMBER 1 SWAP1 SUB BLOCKHASH") },
  { data: returning(`${OTHER} BALANCE`), accessList: [{ address: OTHER, storageKeys: [] }] },
  { data: bytesToHex(assemble("JUMPDEST 0 JUMP")), gas: "0x186a0" },
  { data: "0xfe" },
  { to: "0x0000000000000000000000000000000000000002", data: "0x1234" },
];

/** An empty override makes the call run on a block of its own. */
const ask = async (call: unknown, isAlone: boolean): Promise<unknown> => {
  const params = isAlone ? [call, "latest", null, {}] : [call, "latest"];
  return node.rpc.call("eth_call", params).catch(({ code, message, data }: Record<string, unknown>) => ({ code, message, data }));
};

describe("calls on the head", () => {
  it("see nothing of the calls before them", async () => {
    const expected: unknown[] = [];
    for (const call of calls()) expected.push(await ask(call, true));
    expect(new Set(expected.map((answer) => JSON.stringify(answer))).size).toBeGreaterThan(12);
    let seed = 7;
    for (let n = 0; n < 300; n++) {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      const index = (seed >> 8) % expected.length;
      expect([index, await ask(calls()[index], false)]).toEqual([index, expected[index]]);
    }
  });

  it("see each new head at once", async () => {
    for (let n = 1; n <= 3; n++) {
      await send({ to: hexToBytes(counter) });
      const { hash, number } = await node.buildBlock();
      expect(await ask({ to: counter, data: "0x00" }, false)).toBe(`0x${n.toString(16).padStart(64, "0")}`);
      const [seen] = [await ask({ data: returning("NUMBER") }, false)];
      expect(BigInt(`0x${(seen as string).slice(66)}`)).toBe(BigInt(number));
      expect(await ask({ to: counter, data: "0x00" }, true)).toBe(await ask({ to: counter, data: "0x00" }, false));
      expect(hash).toMatch(/^0x/);
    }
  });

  it("go on after one that took too long", async () => {
    const slow = await startTestClient(["--rpc.evmtimeout=20ms", "--rpc.gascap=1000000000000000"]);
    try {
      const forever = { data: bytesToHex(assemble("JUMPDEST 0 JUMP")), gas: "0x2faf080000" };
      await expect(slow.rpc.call("eth_call", [forever, "latest"])).rejects.toThrow(/timeout|aborted|timed out/i);
      expect(await slow.rpc.call("eth_call", [{ data: returning("7") }, "latest"])).toMatch(/07$/);
    } finally {
      await slow.remove();
    }
  });
});
