import type { Hex } from "@rnode/primitives";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RICH_ADDRESS, startTestClient, type TestClient } from "../testing/test-client.ts";

// Requests with the answers of op-geth, which face G must give, and those of face R.

const ABSENT: Hex = "0x000000000000000000000000000000000000dead";
const SENDER = "0x000000000000000000000000000000000000dEaD"; // with its EIP-55 checksum
const ZERO: Hex = `0x${"00".repeat(32)}`;
const EMPTY_CODE = "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
const EMPTY_TRIE = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";
const error = (code: number, message: unknown, data?: unknown) => ({
  error: { code, message, ...(data !== undefined && { data }) },
});
const PENDING = error(-32602, "pending logs are not supported");
const BAD_RANGE = error(-32602, "invalid block range params");
const any = expect.anything();
const filterId = expect.stringMatching(/^0x[0-9a-f]+$/);
const BOTH = { fromBlock: "0x0", blockHash: ZERO };

const rows: readonly (readonly [method: string, params: readonly unknown[], g: unknown, r: unknown])[] = [
  ...[
    { fromBlock: "pending" },
    { toBlock: "pending" },
    { fromBlock: "0x0", toBlock: "pending" },
    { fromBlock: "pending", toBlock: "pending" },
  ].flatMap(
    (range) =>
      [
        ["eth_getLogs", [range], PENDING, any],
        ["eth_newFilter", [range], PENDING, filterId],
      ] as const,
  ),
  ["eth_newFilter", [{ fromBlock: "0x2", toBlock: "0x1" }], BAD_RANGE, filterId],
  ["eth_newFilter", [{ fromBlock: "latest", toBlock: "0x1" }], BAD_RANGE, filterId],
  ["eth_newFilter", [{ toBlock: "earliest" }], BAD_RANGE, filterId],
  ["eth_newFilter", [{ fromBlock: "safe" }], BAD_RANGE, filterId],
  ["eth_newFilter", [{ fromBlock: "finalized", toBlock: "finalized" }], BAD_RANGE, filterId],
  ["eth_newFilter", [{ fromBlock: "0x5" }], filterId, filterId],
  ["eth_newFilter", [{ fromBlock: "earliest", toBlock: "0x9" }], filterId, filterId],
  ["eth_newFilter", [{ blockHash: ZERO }], filterId, filterId],
  [
    "eth_newFilter",
    [BOTH],
    error(-32602, expect.stringMatching(/^invalid argument 0: cannot specify both/)),
    error(-32602, "Invalid params", any),
  ],
  [
    "eth_getLogs",
    [BOTH],
    error(-32602, expect.stringMatching(/^invalid argument 0: cannot specify both/)),
    error(-32602, "Invalid params", any),
  ],
  ["eth_getLogs", [{ fromBlock: "0x2", toBlock: "0x1" }], BAD_RANGE, BAD_RANGE],
  ["eth_uninstallFilter", ["0x1"], false, false],
  [
    "eth_sendRawTransaction",
    ["0x1234"],
    error(-32602, "failed to decode signed transaction", any),
    error(-32602, "failed to decode signed transaction"),
  ],
  [
    "eth_sendRawTransaction",
    ["0x"],
    error(-32602, "failed to decode signed transaction", any),
    error(-32602, "empty transaction data"),
  ],
  [
    "eth_getProof",
    [ABSENT, ["0x0"], "latest"],
    { codeHash: ZERO, storageHash: ZERO, balance: "0x0", storageProof: [{ key: "0x0", value: "0x0", proof: [] }] },
    { codeHash: EMPTY_CODE, storageHash: EMPTY_TRIE },
  ],
  ["eth_getProof", [RICH_ADDRESS, [], "latest"], { codeHash: EMPTY_CODE, storageHash: EMPTY_TRIE }, { codeHash: EMPTY_CODE }],
  [
    "eth_createAccessList",
    [{ from: ABSENT, to: ABSENT }, "latest"],
    error(
      -32000,
      expect.stringMatching(
        new RegExp(
          `^failed to apply transaction: 0x[0-9a-f]{64} err: insufficient funds for gas \\* price \\+ value: address ${SENDER} have 0 want \\d+$`,
        ),
      ),
    ),
    { accessList: [], gasUsed: "0x5208" },
  ],
  [
    "eth_simulateV1",
    [
      { blockStateCalls: [{ calls: [{ from: RICH_ADDRESS, to: ABSENT, nonce: "0x0", maxFeePerGas: "0x1" }] }], validation: true },
      "latest",
    ],
    error(-32602, expect.stringMatching(/^max fee per gas less than block base fee: address 0x/)),
    error(-38012, "max fee per gas less than block base fee"),
  ],
  ["eth_simulateV1", [{ blockStateCalls: [] }, "latest"], error(-32602, "empty input"), error(-32602, "calls are empty.")],
  ["debug_getRawBlock", ["0xffffff"], "0x", error(-32001, "block not found: 0xffffff")],
  ["debug_getRawHeader", ["0xffffff"], "0x", error(-32001, "block not found: 0xffffff")],
  ["debug_getRawReceipts", ["0xffffff"], null, error(-32001, "block not found: 0xffffff")],
  ["debug_getRawBlock", [ZERO], error(-32000, `block #[${Array<number>(32).fill(0).join(" ")}] not found`), error(-32001, any)],
  ["debug_getRawHeader", [ZERO], error(-32000, `header #[${Array<number>(32).fill(0).join(" ")}] not found`), error(-32001, any)],
  ["debug_getRawTransaction", [ZERO], "0x", null],
  [
    "eth_fillTransaction",
    [{ from: RICH_ADDRESS, to: ABSENT }],
    { tx: { gasPrice: null, maxFeePerGas: any, maxPriorityFeePerGas: any } },
    { tx: { maxFeePerGas: any } },
  ],
  [
    "eth_fillTransaction",
    [{ from: RICH_ADDRESS, to: ABSENT, gasPrice: "0x77359400" }],
    { tx: { gasPrice: "0x77359400", maxFeePerGas: null, maxPriorityFeePerGas: null } },
    { tx: { gasPrice: "0x77359400" } },
  ],
];

describe.each(["R", "G"] as const)("answers beside op-geth, profile %s", (profile) => {
  let node: TestClient;
  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`]);
  });
  afterAll(() => node.remove());
  const answer = (method: string, params: readonly unknown[]): Promise<unknown> =>
    node.rpc
      .call(method, params as unknown[])
      .catch(({ code, message, data }: { code: number; message: string; data: unknown }) => error(code, message, data));

  it.each(rows)("%s %j", async (method, params, g, r) => {
    const given = await answer(method, params);
    const expected = profile === "G" ? g : r;
    if (typeof expected === "object" && expected !== null && !("asymmetricMatch" in expected))
      expect(given).toMatchObject(expected);
    else expect(given).toEqual(expected);
  });

  it("memory of a trace: no key as long as there is none, on G", async () => {
    const code = "0x600160005200"; // MSTORE(0, 1), STOP
    const options = { enableMemory: true, stateOverrides: { [ABSENT]: { code } } };
    const { structLogs } = await node.rpc.call<{ structLogs: { op: string; memory?: string[] }[] }>("debug_traceCall", [
      { to: ABSENT },
      "latest",
      options,
    ]);
    const memory = `${"0".repeat(63)}1`;
    const [none, one] = profile === "G" ? [undefined, [memory]] : [[], [`0x${memory}`]];
    expect(structLogs.map(({ op, memory }) => [op, memory])).toEqual([
      ["PUSH1", none],
      ["PUSH1", none],
      ["MSTORE", none],
      ["STOP", one],
    ]);
  });
});
