import { once } from "node:events";
import { deposit, feeTransaction, l1Info, RECIPIENT } from "@rnode/eth-api/testing";
import type { JsonSchema, RpcClient } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import { encodeTransaction, type Transaction } from "@rnode/protocol";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { COUNTER_CREATION } from "../testing/counter.ts";
import { describedMethods, holdingToDescription } from "../testing/described-answers.ts";
import { CHAIN_ID, GENESIS_TIME_SEC, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

const ZERO = `0x${"00".repeat(32)}`;
const UNKNOWN = `0x${"ee".repeat(32)}`;
const account = privateKeyToAccount(RICH_KEY);
const state = (headBlockHash: string, safeBlockHash = ZERO, finalizedBlockHash = ZERO) => ({
  headBlockHash,
  safeBlockHash,
  finalizedBlockHash,
});
const encoded = (transaction: Transaction): Hex => bytesToHex(encodeTransaction(transaction));
const l1Attributes = encoded(l1Info("jovian"));
const attributes = {
  timestamp: `0x${(GENESIS_TIME_SEC + 1000).toString(16)}`,
  prevRandao: ZERO,
  suggestedFeeRecipient: `0x${"00".repeat(20)}`,
  withdrawals: [],
  parentBeaconBlockRoot: ZERO,
  transactions: [l1Attributes],
  noTxPool: true,
  gasLimit: "0x1c9c380",
  eip1559Params: "0x000000fa00000006",
  minBaseFee: 0,
};

describe.each(["R", "G"] as const)("Engine API, profile %s", (profile) => {
  let node: TestClient;
  let genesis: string;
  /** also checks every answer against `rpc.discover` */
  let described: RpcClient;
  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`]);
    described = holdingToDescription(node.engine);
    genesis = (await node.engine.call<{ hash: string }>("eth_getBlockByNumber", ["0x0", false])).hash;
  });
  afterAll(() => node.remove());

  const call = (method: string, ...params: unknown[]) => described.call(`engine_${method}`, params);
  const failure = (method: string, ...params: unknown[]) =>
    call(method, ...params).then(
      (result) => ({ result }),
      ({ code, message, data }: { code: number; message: string; data?: unknown }) => ({ code, message, data }),
    );

  it("needs its token", async () => {
    const url = `http://127.0.0.1:${node.client.enginePort}`;
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    expect([response.status, await response.text()]).toEqual([401, "missing token\n"]);
  });

  it("says what it can, and serves eth_", async () => {
    const capabilities = (await call("exchangeCapabilities", ["engine_newPayloadV3"])) as string[];
    const versions = (name: string, last: number) => Array.from({ length: last }, (_, index) => `engine_${name}V${index + 1}`);
    const expected = [
      ...versions("forkchoiceUpdated", 4),
      ...versions("newPayload", 5),
      ...versions("getPayload", 6),
      ...versions("getBlobs", 3),
      ...versions("forkchoiceUpdatedWithWitness", 3),
      ...versions("newPayloadWithWitness", 4),
      ...versions("executeStatelessPayload", 4),
      ...[
        "getPayloadBodiesByHashV1",
        "getPayloadBodiesByHashV2",
        "getPayloadBodiesByRangeV1",
        "getPayloadBodiesByRangeV2",
        "getClientVersionV1",
        "signalSuperchainV1",
        "rnodeBuildBlocksV1",
      ].map((name) => `engine_${name}`),
      ...(profile === "G" ? ["engine_exchangeTransitionConfigurationV1"] : []), // the specification lets clients omit it
    ];
    expect([...capabilities].sort()).toEqual(expected.sort());
    expect(capabilities).not.toContain("engine_exchangeCapabilities");
    expect(await call("getClientVersionV1", { code: "RN", name: "rnode", version: "1", commit: "0x00000000" })).toMatchObject([
      { name: "rengine" },
    ]);
    expect(await node.engine.call("eth_chainId")).toBe("0x385");
    expect(await call("signalSuperchainV1", { recommended: ZERO, required: ZERO })).toBe(
      `0x${"00".repeat(19)}09${"00".repeat(12)}`.slice(0, 66),
    );
  });

  it.each<[string, unknown[], object]>([
    [
      "forkchoiceUpdatedV3",
      [state(UNKNOWN), null],
      { result: { payloadStatus: { status: "SYNCING", latestValidHash: null, validationError: null }, payloadId: null } },
    ],
    ["forkchoiceUpdatedV3", [state(ZERO), null], { result: { payloadStatus: { status: "INVALID" }, payloadId: null } }],
    ["getPayloadV4", ["0x0102030405060708"], { code: -38001, message: "Unknown payload" }],
    ["getPayloadV4", ["0x01"], { code: -32602 }],
    ["forkchoiceUpdatedV3", [state("0x12"), null], { code: -32602 }],
    ["newPayloadV4", [{}, [], ZERO, []], { code: -32602 }],
    ["getPayloadBodiesByRangeV1", ["0x0", "0x1"], { code: -32602 }],
    ["getPayloadBodiesByRangeV2", ["0x1", "0x401"], { code: -38004 }],
    ["getPayloadV6", ["0x0302030405060708"], { code: -38005 }],
    ["getPayloadV6", ["0x0402030405060708"], { code: -38001, message: "Unknown payload" }],
    ["getPayloadBodiesByRangeV1", ["0x1", "0x401"], { code: -38004, message: "Too large request" }],
    ["getPayloadBodiesByHashV1", [Array.from({ length: 1025 }, () => ZERO)], { code: -38004, message: "Too large request" }],
    ["getBlobsV1", [Array.from({ length: 129 }, () => ZERO)], { code: -38004, message: "Too large request" }],
    ["getBlobsV2", [Array.from({ length: 129 }, () => ZERO)], { code: -38004, message: "Too large request" }],
    ["getBlobsV3", [Array.from({ length: 129 }, () => ZERO)], { code: -38004, message: "Too large request" }],
    ["getBlobsV1", ["0x12"], { code: -32602 }],
  ])("%s refuses what is wrong", async (method, params, expected) => {
    expect(await failure(method, ...params)).toMatchObject(expected);
  });

  it("refuses what is for Amsterdam, after it has said what is missing; without attributes V4 is V3", async () => {
    const genesisState = state(genesis);
    expect(await call("forkchoiceUpdatedV4", genesisState, null)).toEqual(await call("forkchoiceUpdatedV3", genesisState, null));
    const later = { ...attributes, slotNumber: "0x1", targetGasLimit: "0x1c9c380" };
    const { withdrawals: _, ...noWithdrawals } = later;
    expect(await failure("forkchoiceUpdatedV4", genesisState, noWithdrawals)).toMatchObject({ code: -38003 });
    expect(await failure("forkchoiceUpdatedV4", genesisState, { ...later, slotNumber: null })).toMatchObject({ code: -38003 });
    expect(JSON.stringify(await failure("forkchoiceUpdatedV4", genesisState, { ...later, targetGasLimit: null }))).toMatch(
      /missing target gas limit/,
    );
    expect(await failure("forkchoiceUpdatedV4", genesisState, later)).toMatchObject({ code: -38005 });
    const { payload } = await node.buildBlock();
    const given = payload.executionPayload;
    expect(JSON.stringify(await failure("newPayloadV5", given, [], ZERO, []))).toMatch(/-32602.*nil slotnumber post-amsterdam/);
    expect(await failure("newPayloadV5", { ...given, slotNumber: "0x1" }, [], ZERO, [])).toMatchObject({ code: -38005 });
    expect(await failure("newPayloadV5", { ...given, slotNumber: "0x1" }, [], ZERO, null)).toMatchObject({ code: -32602 });
    for (const field of [{ slotNumber: "0x1" }, { blockAccessList: "0xc0" }]) {
      const refused = JSON.stringify(await failure("newPayloadV4", { ...given, ...field }, [], ZERO, []));
      expect(refused).toMatch(/-32602.*no block of this chain has a (slotNumber|blockAccessList)/);
    }
  });

  it("has no blobs to give: an OP Stack chain has none", async () => {
    const hashes = Array.from({ length: 128 }, () => ZERO);
    expect(await call("getBlobsV1", hashes)).toEqual(hashes.map(() => null));
    for (const name of ["getBlobsV2", "getBlobsV3"]) expect(await call(name, hashes)).toBeNull();
  });

  it.runIf(profile === "G")("compares transition configurations", async () => {
    const zero = { terminalTotalDifficulty: "0x0", terminalBlockHash: ZERO, terminalBlockNumber: "0x0" };
    expect(await call("exchangeTransitionConfigurationV1", { ...zero, terminalBlockNumber: "0x5" })).toEqual(zero);
    const named = { ...zero, terminalBlockHash: genesis };
    expect(await call("exchangeTransitionConfigurationV1", named)).toEqual(named);
    for (const [change, message] of [
      [{ terminalTotalDifficulty: "0x1" }, "invalid ttd: execution 0 consensus 1"],
      [{ terminalBlockHash: UNKNOWN }, "invalid terminal block hash"],
    ] as const)
      expect(await failure("exchangeTransitionConfigurationV1", { ...zero, ...change })).toMatchObject({ code: -32000, message });
  });

  const opFault = (err: string, text?: string) =>
    profile === "R"
      ? { code: -32602, message: "Invalid params", data: { err } }
      : { code: -38003, message: "Invalid payload attributes", ...(text && { data: { err: text } }) };
  const MISSING_L1_ATTRIBUTES = "missing L1 attributes deposit transaction";
  /** the error that makes a rollup node build with deposits only; it would treat other codes as temporary and try again */
  const invalid = (err: unknown) => ({ code: -38003, message: "Invalid payload attributes", data: { err } });
  it.each<[string, object, object]>([
    ["no gas limit", { gasLimit: undefined }, opFault("MissingGasLimitInPayloadAttributes", "gasLimit parameter is required")],
    ["no EIP-1559 parameters", { eip1559Params: undefined }, opFault("MissingEip1559ParamsInPayloadAttributes")],
    ["half of them zero", { eip1559Params: "0x0000000000000006" }, opFault("Eip1559ParamsDenominatorZero")],
    ["no minimum base fee", { minBaseFee: undefined }, opFault("MissingMinBaseFeeInPayloadAttributes")],
    ["no withdrawals", { withdrawals: undefined }, { code: -38003, message: "Invalid payload attributes" }],
    ["no beacon root", { parentBeaconBlockRoot: undefined }, { code: -38003, message: "Invalid payload attributes" }],
    ["an old timestamp", { timestamp: "0x1" }, { code: -38003, message: "Invalid payload attributes" }],
    [
      "a transaction that is none",
      { transactions: [l1Attributes, "0x02c0"] },
      invalid(expect.stringMatching(/^transaction 1 is not valid: /)),
    ],
    ["no transactions", { transactions: [] }, invalid(MISSING_L1_ATTRIBUTES)],
    ["no list of them", { transactions: undefined, noTxPool: false }, invalid(MISSING_L1_ATTRIBUTES)],
    [
      "a user's deposit first",
      { transactions: [encoded(deposit({ to: RECIPIENT })), l1Attributes] },
      invalid(MISSING_L1_ATTRIBUTES),
    ],
    ["a user's transaction first", { transactions: [encoded(feeTransaction()), l1Attributes] }, invalid(MISSING_L1_ATTRIBUTES)],
    ["a malformed field", { prevRandao: "0x12" }, { code: -32602 }],
  ])("refuses attributes with %s", async (_, change, expected) => {
    expect(await failure("forkchoiceUpdatedV3", state(genesis), { ...attributes, ...change })).toMatchObject(expected);
  });

  it("holds methods to their forks", async () => {
    expect(await failure("forkchoiceUpdatedV2", state(genesis), { ...attributes, parentBeaconBlockRoot: undefined })).toMatchObject(
      { code: -38005 },
    );
    const { payloadStatus, payloadId } = (await call("forkchoiceUpdatedV3", state(genesis), attributes)) as {
      payloadStatus: object;
      payloadId: string;
    };
    expect(payloadStatus).toEqual({ status: "VALID", latestValidHash: genesis, validationError: null });
    expect(payloadId).toMatch(/^0x03[0-9a-f]{14}$/);
    expect(await failure("getPayloadV3", payloadId)).toMatchObject({ code: -38005, message: "Unsupported fork" });
    const payload = (await call("getPayloadV4", payloadId)) as Record<string, unknown>;
    expect(Object.keys(payload).sort((a, b) => a.localeCompare(b))).toEqual([
      "blobsBundle",
      "blockValue",
      "executionPayload",
      "executionRequests",
      "parentBeaconBlockRoot",
      "shouldOverrideBuilder",
    ]);
    expect(await call("getPayloadV4", payloadId)).toEqual(payload); // the same payload can be requested again
  });

  it("describes every method: the fields a payload and attributes need are those that are read", async () => {
    const methods = await describedMethods(node.engine);
    const served = [...methods.keys()].filter((name) => name.startsWith("engine_"));
    expect(((await call("exchangeCapabilities", [])) as string[]).sort()).toEqual(
      served.filter((name) => name !== "engine_exchangeCapabilities").sort(),
    );
    for (const name of served) expect([name, Object.keys(methods.get(name)!.result.schema)]).not.toEqual([name, []]);
    const { payload } = await node.buildBlock();
    const inputs = [
      { method: "newPayloadV4", at: 0, rest: [[], ZERO, []], value: payload.executionPayload },
      { method: "forkchoiceUpdatedV3", at: 1, rest: [], value: attributes },
    ];
    for (const { method, at, rest, value } of inputs) {
      const schema = methods.get(`engine_${method}`)!.params[at]!.schema as JsonSchema & {
        readonly required: readonly string[];
        readonly properties: object;
      };
      expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(Object.keys(value)));
      for (const field of Object.keys(schema.properties)) {
        const { [field]: _, ...without } = value as Record<string, unknown>;
        const given = at === 0 ? [without, ...rest] : [state(genesis), without];
        const answer = (await failure(method, ...given)) as { code?: number; data?: unknown; message?: string };
        const isMissed = answer.code === -32602 && JSON.stringify(answer).includes(`.${field}`);
        expect([method, field, isMissed || JSON.stringify(answer).includes(`${field}:`)]).toEqual([
          method,
          field,
          schema.required.includes(field),
        ]);
      }
    }
  });

  it("judges payloads", async () => {
    const { payload } = await node.buildBlock();
    const { executionPayload } = payload;
    const submit = (change: object) => call("newPayloadV4", { ...executionPayload, ...change }, [], ZERO, []);
    expect(await submit({})).toEqual({ status: "VALID", latestValidHash: executionPayload.blockHash, validationError: null });
    expect(await submit({ blockHash: UNKNOWN })).toMatchObject({
      status: "INVALID",
      latestValidHash: null,
      validationError: expect.stringMatching(/hash/),
    });
    expect(await submit({ gasUsed: "0x1" })).toMatchObject({ status: "INVALID" });
    expect(await submit({ transactions: ["0x02c0"] })).toMatchObject({
      status: "INVALID",
      validationError: expect.stringMatching(/^invalid transaction: /),
    });
    // The block is known only as it was built: any other payload with its hash is judged by its own content.
    const { transactions } = executionPayload as unknown as { transactions: string[] };
    const digits = transactions.map((raw) => `0x${raw.slice(2).toUpperCase()}`);
    expect(await submit({ transactions: digits })).toMatchObject({ status: "VALID" });
    for (const other of [
      [],
      [...transactions, ...transactions],
      transactions.map((raw) => raw.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"))),
    ]) {
      expect(await submit({ transactions: other })).toMatchObject({ status: "INVALID", latestValidHash: null });
    }
    const withdrawal = { index: "0x0", validatorIndex: "0x0", address: `0x${"00".repeat(20)}`, amount: "0x1" };
    expect(await submit({ withdrawals: [withdrawal] })).toMatchObject({
      status: "INVALID",
      validationError: expect.stringMatching(/^withdrawals-not-empty/),
    });
    for (const wrong of ["0x0", "7e", "0x7g", 7]) {
      const refused = await failure("newPayloadV4", { ...executionPayload, transactions: [transactions[0], wrong] }, [], ZERO, []);
      expect(refused).toMatchObject({ code: -32602 });
      expect(JSON.stringify(refused)).toContain("transactions[1]");
    }
    expect(await failure("newPayloadV4", executionPayload, [UNKNOWN], ZERO, [])).toMatchObject({ result: { status: "INVALID" } });
    expect(await failure("newPayloadV4", executionPayload, [], null, [])).toMatchObject({ code: -32602 });
    expect(await failure("newPayloadV3", executionPayload, [], ZERO)).toMatchObject({ code: -38005 });
  });

  it("refuses labels that are unknown or elsewhere, and shows good ones", async () => {
    const { hash } = await node.buildBlock();
    const wrong = await failure("forkchoiceUpdatedV3", state(hash, UNKNOWN), null);
    expect(wrong).toMatchObject({ code: -38002, message: "Invalid forkchoice state" });
    if (profile === "G") expect(wrong).toMatchObject({ data: { err: "safe block not available in database" } });
    expect(await node.rpc.call("eth_getBlockByNumber", ["finalized", false])).toBeNull();
    await call("forkchoiceUpdatedV3", state(hash, hash, genesis), null);
    expect(await node.rpc.call("eth_getBlockByNumber", ["safe", false])).toMatchObject({ hash });
    expect(await node.rpc.call("eth_getBlockByNumber", ["finalized", false])).toMatchObject({ hash: genesis });
  });

  it("builds many blocks in one call, and says what it does not build", async () => {
    const head = await node.rpc.call<{ hash: string; timestamp: string; number: string }>("eth_getBlockByNumber", [
      "latest",
      false,
    ]);
    const at = (index: number, transactions: readonly string[] = [l1Attributes]) => ({
      ...attributes,
      transactions,
      timestamp: `0x${(Number(head.timestamp) + 2 * (index + 1)).toString(16)}`,
    });
    const build = (...wanted: object[]) =>
      call("rnodeBuildBlocksV1", state(head.hash), wanted) as Promise<{ headers: Hex[]; refusal: object | null }>;
    const twenty = Array.from({ length: 20 }, (_, index) => at(index));
    const built = await build(...twenty);
    expect(built).toMatchObject({
      payloadStatus: { status: "VALID", latestValidHash: head.hash, validationError: null },
      refusal: null,
    });
    const { length } = built.headers; // as many as there was time for
    expect(length).toBeGreaterThan(0);
    const latest = await node.rpc.call<{ hash: string; number: string }>("eth_getBlockByNumber", ["latest", false]);
    expect(latest).toMatchObject({ number: `0x${(Number(head.number) + length).toString(16)}` });
    expect(latest.hash).toBe(bytesToHex(keccak256(hexToBytes(built.headers.at(-1)!))));

    const undecodable = await build(at(0), at(1, [l1Attributes, "0x02c0"]), at(2));
    expect(undecodable.headers).toEqual(built.headers.slice(0, 1));
    expect(undecodable.refusal).toMatchObject({ code: -38003 });
    expect(await build(at(0), { ...at(1), noTxPool: false })).toMatchObject({
      headers: [expect.anything()],
      refusal: { code: -38003 },
    });
    expect(await call("rnodeBuildBlocksV1", state(UNKNOWN), [at(0)])).toEqual({
      payloadStatus: { status: "SYNCING", latestValidHash: null, validationError: null },
      headers: [],
      refusal: null,
    });
    expect(await failure("rnodeBuildBlocksV1", state(head.hash, UNKNOWN), [at(0)])).toMatchObject({ code: -38002 });
    expect(
      await failure(
        "rnodeBuildBlocksV1",
        state(head.hash),
        Array.from({ length: 1025 }, () => at(0)),
      ),
    ).toMatchObject({
      code: -38004,
    });
    expect(await call("forkchoiceUpdatedV3", state(head.hash), null)).toMatchObject({ payloadStatus: { status: "VALID" } });
  });

  it("gives bodies", async () => {
    const { hash, number } = await node.buildBlock();
    const block = await node.rpc.call<{ transactions: string[] }>("eth_getBlockByNumber", ["latest", false]);
    const bodies = (await call("getPayloadBodiesByHashV1", [hash, UNKNOWN])) as ({
      transactions: string[];
      withdrawals: unknown;
    } | null)[];
    expect(bodies[0]).toMatchObject({ withdrawals: [], transactions: [expect.stringMatching(/^0x7e/)] });
    expect(bodies[0]!.transactions).toHaveLength(block.transactions.length);
    expect(bodies[1]).toBeNull();
    const quantity = `0x${number.toString(16)}`;
    expect(await call("getPayloadBodiesByRangeV1", quantity, "0x5")).toEqual([bodies[0]]);
    expect(await call("getPayloadBodiesByRangeV2", quantity, "0x5")).toEqual([bodies[0]]);
    expect(await call("getPayloadBodiesByHashV2", [hash, UNKNOWN])).toEqual(bodies);
  });

  it("reorganises: logs are taken back, transactions return to the pool", async () => {
    const { rpc } = node;
    const base = await rpc.call<{ hash: `0x${string}`; timestamp: string }>("eth_getBlockByNumber", ["latest", false]);
    const socket = new WebSocket(node.wsUrl);
    await once(socket, "open");
    const messages: {
      result?: string;
      params?: { subscription: string; result: { removed?: boolean; hash?: string; blockHash?: string } };
    }[] = [];
    socket.on("message", (data: Buffer) => messages.push(JSON.parse(data.toString("utf8"))));
    const nonce = Number(await rpc.call("eth_getTransactionCount", [account.address, "latest"]));
    const sign = (fields: object) =>
      account.signTransaction({ chainId: CHAIN_ID, type: "eip1559", gas: 200_000n, maxFeePerGas: 10n ** 10n, ...fields });
    await rpc.call("eth_sendRawTransaction", [await sign({ nonce, data: COUNTER_CREATION })]);
    const creation = await node.buildBlock();
    const { contractAddress } = (await rpc.call<{ contractAddress: `0x${string}` }[]>("eth_getBlockReceipts", [creation.hash]))[1]!;

    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["logs", { address: contractAddress }] }));
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 2, method: "eth_subscribe", params: ["newHeads"] }));
    await expect.poll(() => messages.length).toBe(2);
    const filter = await rpc.call("eth_newFilter", [{ address: contractAddress }]);
    const increment = await rpc.call<string>("eth_sendRawTransaction", [await sign({ nonce: nonce + 1, to: contractAddress })]);
    const first = await node.buildBlock();
    expect(await rpc.call("eth_getTransactionReceipt", [increment])).toMatchObject({ blockHash: first.hash });
    const [logsId, headsId] = messages.map(({ result }) => result);
    const notes = (id: string | undefined) =>
      messages.filter(({ params }) => params?.subscription === id).map(({ params }) => params!.result);
    await expect.poll(() => notes(logsId)).toMatchObject([{ removed: false, blockHash: first.hash }]);

    // Another branch from the parent: first the creation again (forced, because the pool is not used), then an empty block.
    const rawCreation = await rpc.call<`0x${string}`>("debug_getRawTransaction", [
      (await rpc.call<{ transactions: string[] }>("eth_getBlockByHash", [creation.hash, false])).transactions[1],
    ]);
    const timestampSec = Number(base.timestamp) + 10;
    const other = await node.buildBlock({ parent: { hash: base.hash, timestampSec }, noTxPool: true, transactions: [rawCreation] });
    expect(other.number).toBe(creation.number);
    await expect.poll(() => notes(logsId)).toMatchObject([{ removed: false }, { removed: true, blockHash: first.hash }]);
    await expect.poll(() => notes(headsId).at(-1)).toMatchObject({ hash: other.hash });
    expect(await rpc.call("eth_getFilterChanges", [filter])).toMatchObject([{ removed: false }, { removed: true }]);
    expect(await rpc.call("eth_getTransactionReceipt", [increment])).toBeNull();
    expect(await rpc.call("eth_getTransactionByHash", [increment])).toMatchObject({ hash: increment, blockHash: null });
    expect(await rpc.call("eth_getBlockByHash", [first.hash, false])).toSatisfy(
      (block: { hash?: string } | null) => block === null || block.hash === first.hash,
    );

    const again = await node.buildBlock();
    expect(await rpc.call("eth_getTransactionReceipt", [increment])).toMatchObject({ blockHash: again.hash });
    socket.terminate();
  });

  it("rewinds to an older block of its chain", async () => {
    const head = await node.rpc.call<{ parentHash: string; number: string }>("eth_getBlockByNumber", ["latest", false]);
    expect(await call("forkchoiceUpdatedV3", state(head.parentHash), null)).toMatchObject({ payloadStatus: { status: "VALID" } });
    expect(Number(await node.rpc.call("eth_blockNumber"))).toBe(Number(head.number) - 1);
    await node.buildBlock();
    expect(await node.rpc.call("eth_blockNumber")).toBe(head.number);
  });
});
