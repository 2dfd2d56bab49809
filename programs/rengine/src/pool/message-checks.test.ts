import { JOVIAN_CONFIG } from "@rnode/eth-api/testing";
import { anyJson, createRpcServer, method, param, RpcError } from "@rnode/jsonrpc";
import { noMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { encodeMessageAccess, messageChecksum, PREDEPLOYS, type SignedTransaction } from "@rnode/protocol";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it, onTestFinished } from "vitest";
import { clientsOfTest, signTransfer } from "../testing/clients-of-test.ts";
import { GENESIS_TIME_SEC } from "../testing/test-client.ts";
import { MessageChecks } from "./message-checks.ts";

const { start } = clientsOfTest();
const ACTIVE = { ...JOVIAN_CONFIG, karstTime: 0, lagoonTime: 0 };
const LATER = { ...ACTIVE, lagoonTime: GENESIS_TIME_SEC + 1_000_000_000 };

type Verdict = "valid" | "silent" | RpcError;

/** A supervisor whose opinion a test sets. */
async function startSupervisor() {
  const asked: unknown[][] = [];
  const supervisor = { verdict: "valid" as Verdict, asked, url: "" };
  const server = createRpcServer({
    http: { host: "127.0.0.1", port: 0 },
    methods: {
      supervisor_checkAccessList: method({
        params: [param("inboxEntries", anyJson), param("minSafety", anyJson), param("executing", anyJson)],
        handler: async (args) => {
          asked.push([...args]);
          const { verdict } = supervisor;
          if (verdict === "silent") await new Promise((resolve) => setTimeout(resolve, 5_000).unref());
          if (verdict instanceof RpcError) throw verdict;
          return null;
        },
      }),
    },
    log: silentLogger,
  });
  const { httpPort } = await server.listen();
  onTestFinished(() => server.close());
  supervisor.url = `http://127.0.0.1:${httpPort}`;
  return supervisor;
}

const id = { origin: new Uint8Array(20).fill(0xaa), blockNumber: 100n, timestamp: 1_700_000_000n, logIndex: 3, chainId: 902n };
const STORAGE_KEYS = encodeMessageAccess({ ...id, checksum: messageChecksum(id, new Uint8Array(32).fill(0xbb)) }).map((key) =>
  bytesToHex(key),
);
const accessListOf = (storageKeys: readonly string[]) => [{ address: bytesToHex(PREDEPLOYS.crossL2Inbox), storageKeys }];
/** A transaction that executes one message. */
const signExecuting = (nonce: number, fields: object = {}) =>
  signTransfer(nonce, { gas: 100_000n, accessList: accessListOf(STORAGE_KEYS), ...fields });

const CONFLICT = new RpcError(-320600, "conflicting data", { chain: "902" });

describe("a transaction that executes a message of another chain", () => {
  it("is admitted once the supervisor has found it valid, and is then in the next block", async () => {
    const supervisor = await startSupervisor();
    const node = await start([`--rollup.supervisor-http=${supervisor.url}`], undefined, { config: ACTIVE });
    const hash = await node.rpc.call<string>("eth_sendRawTransaction", [await signExecuting(0)]);
    expect(supervisor.asked).toEqual([
      [STORAGE_KEYS, "cross-unsafe", { timestamp: expect.stringMatching(/^0x/), timeout: "0x15180" }],
    ]);
    const { payload } = await node.buildBlock();
    expect(payload.executionPayload.transactions).toHaveLength(2);
    expect(await node.rpc.call("eth_getTransactionReceipt", [hash])).toMatchObject({ status: "0x1" });
  });

  it.each([
    ["refused as the supervisor says", CONFLICT, { code: -320600, message: "conflicting data", data: { chain: "902" } }],
    [
      "refused while the supervisor is silent",
      "silent" as const,
      { code: -32000, message: expect.stringContaining("does not answer") },
    ],
  ])("is %s, and then in no pool", async (_, verdict, refusal) => {
    const supervisor = await startSupervisor();
    supervisor.verdict = verdict;
    const node = await start([`--rollup.supervisor-http=${supervisor.url}`, "--rollup.supervisor-safety-level=safe"], undefined, {
      config: ACTIVE,
    });
    await expect(node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)])).rejects.toMatchObject(refusal);
    expect(supervisor.asked[0]![1]).toBe("safe");
    expect(await node.rpc.call("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
  });

  it.each([
    ["no supervisor is configured", ACTIVE, {}, "this node has no supervisor (--rollup.supervisor-http)"],
    ["interop is not active yet", LATER, {}, "interop is not active"],
    ["its access list is malformed", ACTIVE, { accessList: accessListOf([STORAGE_KEYS[0]!]) }, "a lookup without its checksum"],
  ])("is refused in words where %s, without a request", async (_, config, fields, words) => {
    const node = await start([], undefined, { config });
    await expect(node.rpc.call("eth_sendRawTransaction", [await signExecuting(0, fields)])).rejects.toThrow(words);
  });

  it("is not asked about where the pool would refuse it anyway", async () => {
    const supervisor = await startSupervisor();
    const node = await start([`--rollup.supervisor-http=${supervisor.url}`], undefined, { config: ACTIVE });
    const poor = privateKeyToAccount(`0x${"c3".repeat(32)}`);
    const fields = { gas: 100_000n, accessList: accessListOf(STORAGE_KEYS) };
    await expect(node.rpc.call("eth_sendRawTransaction", [await signTransfer(0, fields, poor)])).rejects.toThrow(
      "insufficient funds",
    );
    expect(supervisor.asked).toEqual([]);
  });

  it("leaves the pool when its message has become invalid", async () => {
    const supervisor = await startSupervisor();
    const node = await start([`--rollup.supervisor-http=${supervisor.url}`], undefined, { config: ACTIVE });
    await node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)]);
    supervisor.verdict = CONFLICT;
    await node.buildBlock({ noTxPool: true }); // a new head
    await expect.poll(() => node.rpc.call("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
    const { payload } = await node.buildBlock();
    expect(payload.executionPayload.transactions).toHaveLength(1);
  });

  it("stays out of blocks, and in the pool, while nobody can say whether its message is valid", async () => {
    const supervisor = await startSupervisor();
    const node = await start([`--rollup.supervisor-http=${supervisor.url}`], undefined, { config: ACTIVE });
    await node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)]);
    supervisor.verdict = new RpcError(-321401, "future data");
    await node.buildBlock({ noTxPool: true });
    await expect.poll(() => supervisor.asked.length).toBe(2);
    expect((await node.buildBlock()).payload.executionPayload.transactions).toHaveLength(1);
    expect(await node.rpc.call("txpool_status")).toEqual({ pending: "0x1", queued: "0x0" });
    supervisor.verdict = "valid";
    const before = supervisor.asked.length;
    await node.buildBlock({ noTxPool: true });
    await expect.poll(() => supervisor.asked.length).toBeGreaterThan(before);
    await expect
      .poll(async () => (await node.buildBlock()).payload.executionPayload.transactions.length, { interval: 50, timeout: 5_000 })
      .toBe(2);
  });

  it("is nothing special on a chain that never executes messages", async () => {
    const node = await start();
    await node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)]);
    expect((await node.buildBlock()).payload.executionPayload.transactions).toHaveLength(2);
    await expect(start(["--rollup.supervisor-http=http://127.0.0.1:1"])).rejects.toThrow(
      "does not schedule messages between chains",
    );
  });
});

describe("checks of many messages", () => {
  const transaction = {
    type: 2,
    accessList: [{ address: PREDEPLOYS.crossL2Inbox, storageKeys: STORAGE_KEYS.map((key) => hexToBytes(key)) }],
  } as unknown as SignedTransaction;
  const hashOf = (i: number): Uint8Array => new Uint8Array(32).fill(i & 0xff, 0, 16).fill(i >> 8, 16);

  /** Checks whose supervisor answers when the test says so. */
  function setUp() {
    const open: (() => void)[] = [];
    let most = 0;
    const checks = new MessageChecks({
      supervisor: {
        endpoint: "test",
        check: () =>
          new Promise<void>((resolve) => {
            open.push(resolve);
            most = Math.max(most, open.length);
          }),
        close: () => Promise.resolve(),
      },
      isActiveAt: () => true,
      nowSec: () => GENESIS_TIME_SEC,
      refusal: (reason) => new RpcError(-32000, reason),
      log: silentLogger,
      metrics: noMetrics,
    });
    return { checks, open, most: () => most };
  }

  it("are limited: who comes beyond that is refused at once", async () => {
    const { checks, open } = setUp();
    const waiting = Array.from({ length: 256 }, () => checks.admit(transaction));
    await expect(checks.admit(transaction)).rejects.toThrow("too many transactions");
    for (const answer of open) answer();
    await Promise.all(waiting);
    const again = checks.admit(transaction);
    open.at(-1)!();
    await again;
  });

  it("are made a few at a time for a new head, and given up for a newer one", async () => {
    const { checks, open, most } = setUp();
    for (let i = 0; i < 100; i++) checks.track(hashOf(i), transaction, true);
    const inPool = (): boolean => true;
    const remove = (): void => expect.unreachable();
    const first = checks.onHead(1, inPool, remove);
    expect(open).toHaveLength(16);
    expect(checks.isIncludable(hashOf(0))).toBe(false);
    const second = checks.onHead(2, () => false, remove); // all of them were mined
    expect(checks.isIdle).toBe(true);
    for (const answer of open) answer();
    await Promise.all([first, second]);
    expect(most()).toBe(16);
  });
});
