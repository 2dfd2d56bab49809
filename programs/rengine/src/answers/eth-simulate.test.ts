import { toQuantity } from "@rnode/primitives";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COUNTER_RUNTIME } from "../testing/counter.ts";
import { GENESIS_TIME_SEC, RICH_ADDRESS, RICH_BALANCE, startTestClient, type TestClient } from "../testing/test-client.ts";

const OTHER = "0x00000000000000000000000000000000000000aa";
const COUNTER = "0x00000000000000000000000000000000000000cc";
const CALLER = "0x00000000000000000000000000000000000000dd";
const word = (value: number) => `0x${value.toString(16).padStart(64, "0")}`;
const wordOfAddress = (address: string) => `0x${address.slice(2).padStart(64, "0")}`;
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/** returns BALANCE(RICH) */
const READ_BALANCE = `0x73${RICH_ADDRESS.slice(2)}3160005260206000f3`;

interface SimulatedBlock {
  readonly number: string;
  readonly hash: string;
  readonly parentHash: string;
  readonly stateRoot: string;
  readonly timestamp: string;
  readonly gasUsed: string;
  readonly baseFeePerGas: string;
  readonly transactions: unknown[];
  readonly calls: { status: string; returnData: string; gasUsed: string; logs: Record<string, unknown>[]; error?: object }[];
}

describe("eth_simulateV1", () => {
  let node: TestClient;
  beforeAll(async () => {
    node = await startTestClient();
  });
  afterAll(() => node.remove());

  const simulate = (payload: object, block: string | object = "latest") =>
    node.rpc.call<SimulatedBlock[]>("eth_simulateV1", [payload, block]);
  const withCounter = { [COUNTER]: { code: COUNTER_RUNTIME } };

  it("keeps times of 64 bits exact", async () => {
    const times = ["0x1fffffffffffff", undefined, "0x20000000000010", "0xfffffffffffffff2", undefined, "0xffffffffffffffff"];
    const blockStateCalls = times.map((time) => ({ blockOverrides: { ...(time !== undefined && { time }) }, calls: [] }));
    const blocks = await simulate({ blockStateCalls });
    expect(blocks.map(({ timestamp }) => timestamp)).toEqual(
      times.map((time, index) => time ?? `0x${(BigInt(times[index - 1]!) + 12n).toString(16)}`),
    );
    expect(blocks.slice(1).map(({ parentHash }) => parentHash)).toEqual(blocks.slice(0, -1).map(({ hash }) => hash));
  });

  it("runs blocks one on the other: state, numbers, times, hashes, logs", async () => {
    const blocks = await simulate({
      blockStateCalls: [
        { stateOverrides: withCounter, calls: [{ to: COUNTER }, { to: COUNTER }, { to: COUNTER, data: "0x00" }] },
        { blockOverrides: { number: "0x3", time: toQuantity(GENESIS_TIME_SEC + 100) }, calls: [{ to: COUNTER }] },
      ],
    });
    expect(blocks.map(({ number }) => number)).toEqual(["0x1", "0x2", "0x3"]);
    expect(blocks.map(({ timestamp }) => Number(timestamp) - GENESIS_TIME_SEC)).toEqual([12, 24, 100]);
    const [first, gap, last] = blocks as [SimulatedBlock, SimulatedBlock, SimulatedBlock];
    expect(first.calls[2]).toMatchObject({ status: "0x1", returnData: word(2), logs: [] });
    expect(first.calls[1]!.logs[0]).toMatchObject({
      address: COUNTER,
      topics: [word(2)],
      data: word(2),
      blockNumber: "0x1",
      blockHash: first.hash,
      transactionHash: first.transactions[1],
      transactionIndex: "0x1",
      logIndex: "0x1",
      removed: false,
    });
    expect(gap).toMatchObject({ parentHash: first.hash, calls: [], transactions: [], gasUsed: "0x0" });
    expect(last.parentHash).toBe(gap.hash);
    expect(last.calls[0]!.logs[0]).toMatchObject({ topics: [word(3)] });
    expect(gap.stateRoot).toBe(first.stateRoot);
    expect(last.stateRoot).not.toBe(first.stateRoot);
    expect(Number(first.gasUsed)).toBe(first.calls.reduce((sum, { gasUsed }) => sum + Number(gasUsed), 0));
    expect(await node.rpc.call("eth_getCode", [COUNTER, "latest"])).toBe("0x");
  });

  it("computes state roots: those of the chain when nothing happens, the same however calls are spread over blocks", async () => {
    const genesis = await node.rpc.call<{ stateRoot: string }>("eth_getBlockByNumber", ["0x0", false]);
    const [empty] = await simulate({ blockStateCalls: [{}] });
    expect(empty!.stateRoot).toBe(genesis.stateRoot);
    const calls = [
      { from: RICH_ADDRESS, to: OTHER, value: "0x1" },
      { to: COUNTER },
      { to: COUNTER },
      { from: OTHER, to: CALLER, value: "0x1" },
    ];
    const [together] = await simulate({ blockStateCalls: [{ stateOverrides: withCounter, calls }] });
    const apart = await simulate({
      blockStateCalls: calls.map((call, index) => ({ ...(index === 0 && { stateOverrides: withCounter }), calls: [call] })),
    });
    expect(apart.at(-1)!.stateRoot).toBe(together!.stateRoot);
    expect(together!.stateRoot).not.toBe(genesis.stateRoot);
  });

  it("shows failures a call, and goes on", async () => {
    const [block] = await simulate({
      blockStateCalls: [
        {
          stateOverrides: { ...withCounter, [CALLER]: { code: "0xfe" } },
          calls: [{ to: COUNTER, data: "0x01" }, { to: CALLER, gas: "0x10000" }, { to: COUNTER }],
        },
      ],
    });
    expect(block!.calls[0]).toMatchObject({
      status: "0x0",
      logs: [],
      error: { code: 3, message: "execution reverted: nope", data: expect.stringMatching(/^0x08c379a0/) },
    });
    expect(block!.calls[1]).toMatchObject({
      status: "0x0",
      gasUsed: "0x10000",
      error: { code: -32015, message: "invalid opcode: INVALID" },
    });
    expect(block!.calls[2]).toMatchObject({ status: "0x1" });
  });

  it("logs transfers of ether when asked", async () => {
    const forward = `0x6000600060006000600173${OTHER.slice(2)}5af100`; // CALL(gas, OTHER, 1, …)
    const [block] = await simulate({
      traceTransfers: true,
      blockStateCalls: [
        {
          stateOverrides: { ...withCounter, [CALLER]: { code: forward, balance: "0x5" } },
          calls: [
            { from: RICH_ADDRESS, to: CALLER, value: "0x2" },
            { to: COUNTER },
            { from: RICH_ADDRESS, to: COUNTER, value: "0x9", data: "0x01" },
          ],
        },
      ],
    });
    const transfer = (from: string, to: string, value: number, logIndex: string) => ({
      address: `0x${"ee".repeat(20)}`,
      topics: [TRANSFER, wordOfAddress(from), wordOfAddress(to)],
      data: word(value),
      logIndex,
    });
    expect(block!.calls[0]!.logs).toMatchObject([transfer(RICH_ADDRESS, CALLER, 2, "0x0"), transfer(CALLER, OTHER, 1, "0x1")]);
    expect(block!.calls[1]!.logs).toMatchObject([{ address: COUNTER, logIndex: "0x2" }]);
    expect(block!.calls[2]!.logs).toEqual([]);
  });

  it("has a base fee when it validates, and charges for gas", async () => {
    const head = await node.rpc.call<{ baseFeePerGas: string }>("eth_getBlockByNumber", ["latest", false]);
    const call = { from: RICH_ADDRESS, to: OTHER, value: "0x1", nonce: "0x0", gas: "0x5208" };
    const [block] = await simulate({
      validation: true,
      returnFullTransactions: true,
      blockStateCalls: [{ calls: [{ ...call, maxFeePerGas: "0x77359400", maxPriorityFeePerGas: "0x1" }] }],
    });
    expect(block!.calls[0]).toMatchObject({ status: "0x1", gasUsed: "0x5208" });
    expect(BigInt(block!.baseFeePerGas)).toBeGreaterThan(0n);
    expect(BigInt(block!.baseFeePerGas)).toBeLessThanOrEqual(BigInt(head.baseFeePerGas));
    expect(block!.transactions[0]).toMatchObject({ from: RICH_ADDRESS, type: "0x2", value: "0x1" });
    const [free] = await simulate({
      blockStateCalls: [
        {
          stateOverrides: { [CALLER]: { code: READ_BALANCE } },
          calls: [
            { ...call, maxFeePerGas: "0x2", maxPriorityFeePerGas: "0x2" },
            { from: OTHER, to: CALLER, gas: "0x186a0" },
          ],
        },
      ],
    });
    expect(free!.baseFeePerGas).toBe("0x0");
    expect(BigInt(free!.calls[1]!.returnData)).toBe(RICH_BALANCE - 1n - 21_000n * 2n);
  });

  const call = { from: RICH_ADDRESS, to: OTHER };
  const paying = { ...call, maxFeePerGas: "0x77359400", gas: "0x5208", nonce: "0x0" };
  const one = (calls: object[], more: object = {}, block: object = {}) => ({ blockStateCalls: [{ ...block, calls }], ...more });
  const validated = { validation: true };
  const MAX_NONCE = "0xffffffffffffffff";
  it.each([
    ["a nonce that is too low", -38010, one([paying], validated, { stateOverrides: { [RICH_ADDRESS]: { nonce: "0x5" } } })],
    ["a nonce that is too high", -38011, one([{ ...paying, nonce: "0x9" }], validated)],
    ["a fee below the base fee", -38012, one([{ ...paying, maxFeePerGas: "0x1" }], validated)],
    ["too little gas", -38013, one([{ ...call, gas: "0x1" }])],
    ["too little ether", -38014, one([{ from: OTHER, to: CALLER, value: "0x1" }])],
    ["more gas than the block has", -38015, one([{ ...call, gas: "0x1c9c381" }])],
    ["numbers out of order", -38020, { blockStateCalls: ["0x5", "0x5"].map((number) => ({ blockOverrides: { number } })) }],
    ["a block after the last second", -38021, { blockStateCalls: [{ blockOverrides: { time: "0xffffffffffffffff" } }, {}] }],
    ["times out of order", -38021, { blockStateCalls: [{ blockOverrides: { time: toQuantity(GENESIS_TIME_SEC) } }] }],
    [
      "a nonce that cannot grow",
      -32603,
      one([{ ...paying, nonce: MAX_NONCE }], validated, { stateOverrides: { [RICH_ADDRESS]: { nonce: MAX_NONCE } } }),
    ],
    ["init code that is too large", -38025, one([{ from: RICH_ADDRESS, data: `0x${"00".repeat(49_153)}` }])],
    ["too many blocks", -38026, { blockStateCalls: [{ blockOverrides: { number: "0x102" } }] }],
    ["both fee models", -32602, one([{ ...call, gasPrice: "0x1", maxFeePerGas: "0x1" }])],
    ["no blocks", -32602, { blockStateCalls: [] }],
  ])("refuses %s", async (_, code, payload) => {
    await expect(simulate(payload)).rejects.toMatchObject({ code });
  });

  it("moves precompiles: they answer at their new address, and the old one runs its code", async () => {
    const identity = `0x${"04".padStart(40, "0")}`;
    const target = `0x${"123456".padStart(40, "0")}`;
    const twice = (data: string) => [target, identity].map((to) => ({ from: OTHER, to, data }));
    const blockOf = (override: object) => ({
      blockStateCalls: [{ stateOverrides: { [identity]: override }, calls: twice("0x1234") }],
    });
    const outputs = async (override: object) => (await simulate(blockOf(override)))[0]!.calls.map(({ returnData }) => returnData);
    expect(await outputs({ movePrecompileToAddress: target })).toEqual(["0x1234", "0x"]);
    expect(await outputs({ movePrecompileToAddress: target, code: "0x60ff60005260206000f3" })).toEqual(["0x1234", word(0xff)]);
    expect(await outputs({ code: "0x" })).toEqual(["0x", "0x"]); // the override alone removes it
    const [plain] = await simulate({ blockStateCalls: [{ calls: twice("0x1234") }] });
    expect(plain!.calls.map(({ returnData }) => returnData)).toEqual(["0x", "0x1234"]); // nothing persists
    expect(
      await node.rpc.call("eth_call", [
        { to: target, data: "0x1234" },
        "latest",
        { [identity]: { movePrecompileToAddress: target } },
      ]),
    ).toBe("0x1234");
    const refused = { code: -32000, message: expect.stringMatching(/is not a precompile|already overridden/) };
    await expect(
      simulate({ blockStateCalls: [{ stateOverrides: { [OTHER]: { movePrecompileToAddress: target } } }] }),
    ).rejects.toMatchObject(refused);
    await expect(
      simulate({
        blockStateCalls: [{ stateOverrides: { [identity]: { movePrecompileToAddress: target }, [target]: { nonce: "0x1" } } }],
      }),
    ).rejects.toMatchObject(refused);
  });

  it("lets contracts send, and shows what a failed call returned in its error only", async () => {
    const [block] = await simulate(one([paying], validated, { stateOverrides: { [RICH_ADDRESS]: { code: "0x00" } } }));
    expect(block!.calls[0]).toMatchObject({ status: "0x1", gasUsed: "0x5208", maxUsedGas: "0x5208" });
    const revert = { stateOverrides: { [OTHER]: { code: "0x60005ffd" } } }; // REVERT(0, 0) after PUSH1 0
    const [failed] = await simulate(one([call], {}, revert));
    expect(failed!.calls[0]).toMatchObject({ status: "0x0", returnData: "0x", error: { code: 3, data: "0x" } });
  });

  it("refuses an unknown block", async () => {
    await expect(simulate({ blockStateCalls: [{}] }, "0x999")).rejects.toMatchObject({ code: -32001 });
  });

  it("ends a call that takes too long, and the next one works", async () => {
    const impatient = await startTestClient(["--rpc.evmtimeout=50ms", "--rpc.gascap=100000000000"]);
    try {
      const loop = { [CALLER]: { code: "0x5b600056" } };
      const params = [{ to: CALLER }, "latest", loop];
      await expect(impatient.rpc.call("eth_call", params)).rejects.toMatchObject({
        code: -32000,
        message: "execution aborted (timeout = 0.05s)",
      });
      expect(await impatient.rpc.call("eth_call", [{ to: COUNTER, data: "0x00" }, "latest", withCounter])).toBe(word(0));
    } finally {
      await impatient.remove();
    }
  });

  it("applies authorizations in eth_call", async () => {
    // The signature recovers to an unknown account: the authorization is skipped, but its gas is charged.
    const authorization = { chainId: "0x0", address: COUNTER, nonce: "0x0", yParity: "0x0", r: "0x1", s: "0x1" };
    const estimate = (authorizationList?: object[]) =>
      node.rpc.call<string>("eth_estimateGas", [{ ...call, data: "0x", authorizationList }]);
    expect(await estimate()).toBe("0x5208");
    expect(Number(await estimate([authorization]))).toBeGreaterThanOrEqual(21_000 + 25_000);
  });
});
