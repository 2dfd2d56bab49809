import { JOVIAN_CONFIG } from "@rnode/eth-api/testing";
import { anyJson, createRpcServer, method, param, RpcError } from "@rnode/jsonrpc";
import { noMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { parseOptions } from "@rnode/program";
import { encodeMessageAccess, messageChecksum, PREDEPLOYS, type SignedTransaction } from "@rnode/protocol";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it, onTestFinished } from "vitest";
import { clientTable } from "../options.ts";
import { clientsOfTest, signTransfer } from "../testing/clients-of-test.ts";
import { GENESIS_TIME_SEC } from "../testing/test-client.ts";
import { MessageChecks } from "./message-checks.ts";
import type { Verdict } from "./message-quorum.ts";

const { start } = clientsOfTest();
const ACTIVE = { ...JOVIAN_CONFIG, karstTime: 0, lagoonTime: 0 };
const LATER = { ...ACTIVE, lagoonTime: GENESIS_TIME_SEC + 1_000_000_000 };

type Opinion = "valid" | "silent" | "malformed" | "huge" | RpcError;

/** An interop filter whose opinion a test sets. */
async function startFilter(methodName = "interop_checkAccessList") {
  const asked: unknown[][] = [];
  const filter = {
    opinion: "valid" as Opinion,
    failsafe: false as unknown,
    asked,
    url: "",
    underWay: 0,
    mostUnderWay: 0,
    delayMs: 0,
  };
  const server = createRpcServer({
    http: { host: "127.0.0.1", port: 0 },
    methods: {
      admin_getFailsafeEnabled: method({
        params: [],
        handler: () => {
          if (filter.failsafe instanceof RpcError) throw filter.failsafe;
          return filter.failsafe;
        },
      }),
      [methodName]: method({
        params: [param("inboxEntries", anyJson), param("minSafety", anyJson), param("executing", anyJson)],
        handler: async (args) => {
          asked.push([...args]);
          const { opinion } = filter;
          filter.mostUnderWay = Math.max(filter.mostUnderWay, ++filter.underWay);
          const waitMs = opinion === "silent" ? 5_000 : filter.delayMs;
          if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
          filter.underWay--;
          if (opinion instanceof RpcError) throw opinion;
          return opinion === "malformed" ? true : opinion === "huge" ? "x".repeat(100_000) : null;
        },
      }),
    },
    log: silentLogger,
  });
  const { httpPort } = await server.listen();
  onTestFinished(() => server.close());
  filter.url = `http://127.0.0.1:${httpPort}`;
  return filter;
}

const startFilters = (count: number) => Promise.all(Array.from({ length: count }, () => startFilter()));
type Filter = Awaited<ReturnType<typeof startFilter>>;
const filterArgs = (...filters: readonly Filter[]): string[] => filters.map(({ url }) => `--rollup.interop-http=${url}`);

const id = { origin: new Uint8Array(20).fill(0xaa), blockNumber: 100n, timestamp: 1_700_000_000n, logIndex: 3, chainId: 902n };
const STORAGE_KEYS = encodeMessageAccess({ ...id, checksum: messageChecksum(id, new Uint8Array(32).fill(0xbb)) }).map((key) =>
  bytesToHex(key),
);
const accessListOf = (storageKeys: readonly string[]) => [{ address: bytesToHex(PREDEPLOYS.crossL2Inbox), storageKeys }];
/** A transaction that executes one message. */
const signExecuting = (nonce: number, fields: object = {}) =>
  signTransfer(nonce, { gas: 100_000n, accessList: accessListOf(STORAGE_KEYS), ...fields });

const CONFLICT = new RpcError(-320600, "conflicting data", { chain: "902" });
const FAILSAFE = new RpcError(-320602, "failsafe is enabled, rejecting all CheckAccessList requests");
const NOT_READ_YET = new RpcError(-321100, "timestamp 5 not yet ingested: out of scope");
const FUTURE = new RpcError(-321401, "future data");

describe("a transaction that executes a message of another chain", () => {
  it("is admitted once the filter has found it valid, and is then in the next block", async () => {
    const filter = await startFilter();
    const node = await start(filterArgs(filter), undefined, { config: ACTIVE });
    const hash = await node.rpc.call<string>("eth_sendRawTransaction", [await signExecuting(0)]);
    const executing = { chainID: String(ACTIVE.chainId), timestamp: expect.stringMatching(/^0x[1-9a-f]/), timeout: "0x15180" };
    expect(filter.asked).toEqual([[STORAGE_KEYS, "cross-unsafe", executing]]);
    const { payload } = await node.buildBlock();
    expect(payload.executionPayload.transactions).toHaveLength(2);
    expect(await node.rpc.call("eth_getTransactionReceipt", [hash])).toMatchObject({ status: "0x1" });
  });

  it("is checked in the old way by a supervisor, under the old names of the options", async () => {
    const supervisor = await startFilter("supervisor_checkAccessList");
    const args = [`--rollup.supervisor-http=${supervisor.url}`, "--rollup.supervisor-safety-level=safe"];
    const node = await start(args, undefined, { config: ACTIVE });
    await node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)]);
    await node.rpc.call("eth_sendRawTransaction", [await signExecuting(1)]);
    const executing = { timestamp: expect.stringMatching(/^0x/), timeout: "0x15180" };
    expect(supervisor.asked).toEqual(Array(2).fill([STORAGE_KEYS, "safe", executing]));
    supervisor.opinion = CONFLICT;
    await expect(node.rpc.call("eth_sendRawTransaction", [await signExecuting(2)])).rejects.toMatchObject({ code: -320600 });
  });

  it.each<[string, Opinion, object]>([
    ["refused as the filter says", CONFLICT, { code: -320600, message: "conflicting data", data: { chain: "902" } }],
    ["refused while the filter is in failsafe", FAILSAFE, { code: -320602, message: FAILSAFE.message }],
    ["refused while the filter has not read its block", NOT_READ_YET, { code: -321100, message: NOT_READ_YET.message }],
    ["refused while its data is in the future", FUTURE, { code: -321401, message: "future data" }],
    ["refused for a fault of the filter", new RpcError(-32603, "internal"), { code: -32603, message: "internal" }],
    ["refused while the filter is silent", "silent", { code: -32000, message: expect.stringContaining("0 of 1 verdicts") }],
    [
      "refused for a malformed answer",
      "malformed",
      { code: -32000, message: expect.stringContaining("neither null nor an error") },
    ],
    ["refused for an answer without end", "huge", { code: -32000, message: expect.stringContaining("0 of 1 verdicts") }],
  ])("is %s, and then in no pool", async (_, opinion, refusal) => {
    const filter = await startFilter();
    filter.opinion = opinion;
    const node = await start([...filterArgs(filter), "--rollup.interop-safety-level=safe"], undefined, { config: ACTIVE });
    await expect(node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)])).rejects.toMatchObject(refusal);
    expect(filter.asked[0]![1]).toBe("safe");
    expect(await node.rpc.call("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
  });

  it("is refused with the filter's own error through a reader process", async () => {
    const filter = await startFilter();
    filter.opinion = NOT_READ_YET;
    const node = await start([...filterArgs(filter), "--rpc.workers=1"], undefined, { config: ACTIVE });
    const send = async () => node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)]);
    await expect(send()).rejects.toMatchObject({ code: -321100, message: NOT_READ_YET.message });
    filter.opinion = CONFLICT;
    await expect(send()).rejects.toMatchObject({ code: -320600, data: { chain: "902" } });
    filter.opinion = "valid";
    await send();
  });

  describe("with several filters", () => {
    it.each<[string, Opinion[], string[], string | RegExp]>([
      ["all of them by default", ["valid", "valid", "valid"], [], "valid"],
      ["a minimum of them, without the silent one", ["valid", "silent", "valid"], ["--rollup.interop-min-responses=2"], "valid"],
      ["a minimum, without one that has not read the block", [FUTURE, "valid"], ["--rollup.interop-min-responses=1"], "valid"],
      ["all by default, so that one without a verdict is too few", ["valid", NOT_READ_YET], [], /^timestamp 5 not yet ingested/],
      [
        "all by default, so that a malformed one is too few",
        ["malformed", "valid"],
        [],
        /1 of 2 verdicts: http\S+: its answer is neither/,
      ],
      ["those that decide, which must agree", ["valid", CONFLICT], [], "filters disagree: 1 accept, 1 refuse"],
      ["all of them, which refuse", [CONFLICT, CONFLICT], [], "conflicting data"],
      ["a failsafe, whatever the others say", ["valid", "valid", FAILSAFE], [], "failsafe is enabled"],
      ["a failsafe, even if too few answer", ["malformed", FAILSAFE], [], "failsafe is enabled"],
    ])("the answer is that of %s", async (_, opinions, args, expected) => {
      const filters = await startFilters(opinions.length);
      for (const [index, filter] of filters.entries()) filter.opinion = opinions[index]!;
      const node = await start([...filterArgs(...filters), ...args], undefined, { config: ACTIVE });
      const sent = node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)]);
      if (expected === "valid") await sent;
      else await expect(sent).rejects.toThrow(expected);
    });

    it("a slow filter beyond the minimum is not waited for", async () => {
      const [fast, slow] = await startFilters(2);
      slow!.delayMs = 1_900;
      slow!.opinion = CONFLICT; // by which the transaction would be refused
      const node = await start([...filterArgs(fast!, slow!), "--rollup.interop-min-responses=1"], undefined, { config: ACTIVE });
      await node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)]);
      expect(slow!.asked).toHaveLength(1);
    });

    it("a filter that disagrees with another one removes nothing from the pool", async () => {
      const [one, other] = await startFilters(2);
      const node = await start(filterArgs(one!, other!), undefined, { config: ACTIVE });
      await node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)]);
      other!.opinion = CONFLICT;
      await node.buildBlock({ noTxPool: true });
      await expect.poll(() => other!.asked.length).toBe(2);
      expect((await node.buildBlock()).payload.executionPayload.transactions).toHaveLength(1);
      expect(await node.rpc.call("txpool_status")).toEqual({ pending: "0x1", queued: "0x0" });
    });
  });

  it.each([
    ["no filter is configured", ACTIVE, {}, "this node has no interop filter (--rollup.interop-http)"],
    ["interop is not active yet", LATER, {}, "interop is not active"],
    ["its access list is malformed", ACTIVE, { accessList: accessListOf([STORAGE_KEYS[0]!]) }, "a lookup without its checksum"],
  ])("is refused in words where %s, without a request", async (_, config, fields, words) => {
    const node = await start([], undefined, { config });
    await expect(node.rpc.call("eth_sendRawTransaction", [await signExecuting(0, fields)])).rejects.toThrow(words);
  });

  it("is not asked about where the pool would refuse it anyway", async () => {
    const filter = await startFilter();
    const node = await start(filterArgs(filter), undefined, { config: ACTIVE });
    const poor = privateKeyToAccount(`0x${"c3".repeat(32)}`);
    const fields = { gas: 100_000n, accessList: accessListOf(STORAGE_KEYS) };
    await expect(node.rpc.call("eth_sendRawTransaction", [await signTransfer(0, fields, poor)])).rejects.toThrow(
      "insufficient funds",
    );
    expect(filter.asked).toEqual([]);
  });

  it("leaves the pool in a failsafe without a new head, and is refused without a check until the failsafe ends", async () => {
    const [filter, other] = await startFilters(2);
    const node = await start(filterArgs(filter!, other!), undefined, { config: ACTIVE });
    const send = async (nonce: number) => node.rpc.call("eth_sendRawTransaction", [await signExecuting(nonce)]);
    await send(0);
    filter!.failsafe = true;
    await expect.poll(() => node.rpc.call("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
    const before = filter!.asked.length;
    await expect(send(0)).rejects.toMatchObject({ code: -320602 });
    expect(filter!.asked).toHaveLength(before);
    expect((await node.buildBlock()).payload.executionPayload.transactions).toHaveLength(1);
    filter!.failsafe = false;
    await expect.poll(() => send(0).then(() => "in the pool", String)).toBe("in the pool");
  });

  it("is only checked where a filter does not say if it is in failsafe", async () => {
    const filter = await startFilter();
    filter.failsafe = new RpcError(-32601, "the method does not exist");
    const node = await start(filterArgs(filter), undefined, { config: ACTIVE });
    await node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)]);
    filter.opinion = FAILSAFE;
    await expect(node.rpc.call("eth_sendRawTransaction", [await signExecuting(1)])).rejects.toMatchObject({ code: -320602 });
    filter.opinion = "valid";
    await node.rpc.call("eth_sendRawTransaction", [await signExecuting(1)]);
  });

  it.each([CONFLICT, FAILSAFE])("leaves the pool when the filter says for a new head: %s", async (opinion) => {
    const filter = await startFilter();
    const node = await start(filterArgs(filter), undefined, { config: ACTIVE });
    await node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)]);
    await node.rpc.call("eth_sendRawTransaction", [await signExecuting(1)]);
    filter.opinion = opinion;
    await node.buildBlock({ noTxPool: true }); // a new head
    await expect.poll(() => node.rpc.call("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
    const { payload } = await node.buildBlock();
    expect(payload.executionPayload.transactions).toHaveLength(1);
  });

  it.each<[Opinion]>([[FUTURE], [NOT_READ_YET], [new RpcError(-320400, "uninitialized")], ["malformed"]])(
    "stays out of blocks, and in the pool, while the filter has no verdict: %s",
    async (opinion) => {
      const filter = await startFilter();
      const node = await start(filterArgs(filter), undefined, { config: ACTIVE });
      await node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)]);
      filter.opinion = opinion;
      await node.buildBlock({ noTxPool: true });
      await expect.poll(() => filter.asked.length).toBe(2);
      expect((await node.buildBlock()).payload.executionPayload.transactions).toHaveLength(1);
      expect(await node.rpc.call("txpool_status")).toEqual({ pending: "0x1", queued: "0x0" });
      filter.opinion = "valid";
      const before = filter.asked.length;
      await node.buildBlock({ noTxPool: true });
      await expect.poll(() => filter.asked.length).toBeGreaterThan(before);
      await expect
        .poll(async () => (await node.buildBlock()).payload.executionPayload.transactions.length, { interval: 50 })
        .toBe(2);
    },
  );

  it("is nothing special on a chain that never executes messages", async () => {
    const node = await start();
    await node.rpc.call("eth_sendRawTransaction", [await signExecuting(0)]);
    expect((await node.buildBlock()).payload.executionPayload.transactions).toHaveLength(2);
    await expect(start(["--rollup.interop-http=http://127.0.0.1:1"])).rejects.toThrow("does not schedule messages between chains");
  });
});

describe("the options of interop filters", () => {
  const parse = (...args: string[]) => {
    const parsed = parseOptions(clientTable, ["--chain=x", "--datadir=x", ...args], {});
    return parsed.kind === "options" ? parsed.options.rollup : parsed.kind === "error" ? parsed.faults.join("\n") : parsed.kind;
  };
  const URLS = ["http://127.0.0.1:1", "http://127.0.0.1:2"];
  const given = URLS.map((url) => `--rollup.interop-http=${url}`);

  it("take several filters and a minimum, by each name of a safety level", () => {
    expect(parse(...given)).toMatchObject({
      interopHttp: URLS,
      interopMinResponses: undefined,
      interopSafetyLevel: "cross-unsafe",
    });
    expect(parse(`--rollup.interop-http=${URLS.join(",")}`, "--rollup.interop-min-responses=2")).toMatchObject({
      interopHttp: URLS,
      interopMinResponses: 2,
    });
    for (const level of ["local-safe", "LocalSafe", "localsafe"]) {
      expect(parse(...given, `--rollup.interop-safety-level=${level}`)).toMatchObject({ interopSafetyLevel: "local-safe" });
    }
    expect(parse("--rollup.supervisor-http=http://127.0.0.1:1")).toMatchObject({ interopHttp: [URLS[0]] });
  });

  it.each<[string, string[], string]>([
    ["more answers than filters", [...given, "--rollup.interop-min-responses=3"], "expected at most 2"],
    ["no answer", [...given, "--rollup.interop-min-responses=0"], "--rollup.interop-min-responses"],
    ["a filter twice", [...given, given[0]!], "is given twice"],
    ["an unknown level", [...given, "--rollup.interop-safety-level=certain"], "--rollup.interop-safety-level"],
    ["both names with different values", [given[0]!, "--rollup.supervisor-http=http://127.0.0.1:2"], "differ"],
  ])("refuse %s", (_, args, message) => {
    expect(parse(...args)).toContain(message);
  });
});

describe("checks of many messages", () => {
  const QUIET = { isInFailsafe: async () => false, close: async () => {} };
  const transaction = {
    type: 2,
    accessList: [{ address: PREDEPLOYS.crossL2Inbox, storageKeys: STORAGE_KEYS.map((key) => hexToBytes(key)) }],
  } as unknown as SignedTransaction;
  const hashOf = (i: number): Uint8Array => new Uint8Array(32).fill(i & 0xff, 0, 16).fill(i >> 8, 16);

  /** Checks whose filters answer when the test says so. */
  function setUp() {
    const open: (() => void)[] = [];
    let most = 0;
    const checks = new MessageChecks({
      checker: {
        ...QUIET,
        check: () =>
          new Promise<Verdict>((resolve) => {
            open.push(() => resolve({ kind: "valid" }));
            most = Math.max(most, open.length);
          }),
      },
      isActiveAt: () => true,
      nowSec: () => GENESIS_TIME_SEC,
      refusal: (reason) => new RpcError(-32000, reason),
      log: silentLogger,
      metrics: noMetrics,
    });
    return { checks, open, most: () => most };
  }

  it("are reported once when they begin to fail, and again after heads with verdicts", async () => {
    let verdict: Verdict = { kind: "undecided", reason: "nobody answers" };
    const lines: string[] = [];
    const log = { ...silentLogger, warn: (line: string) => lines.push(line) } as unknown as typeof silentLogger;
    const checks = new MessageChecks({
      checker: { ...QUIET, check: async () => verdict },
      isActiveAt: () => true,
      nowSec: () => GENESIS_TIME_SEC,
      refusal: (reason) => new RpcError(-32000, reason),
      log,
      metrics: noMetrics,
    });
    const removed: Uint8Array[] = [];
    const pass = () =>
      checks.onHead(
        1,
        () => true,
        (hash) => removed.push(hash),
      );
    for (let i = 0; i < 30; i++) checks.track(hashOf(i), transaction, true);
    await pass();
    verdict = { kind: "undecided", reason: "another reason" };
    await pass();
    expect(lines).toEqual(["messages of other chains cannot be checked: their transactions wait"]);
    verdict = { kind: "valid" };
    await pass();
    expect(checks.isIncludable(hashOf(29))).toBe(true);
    verdict = { kind: "failsafe", error: FAILSAFE };
    await pass();
    expect(removed).toHaveLength(30); // each once
    expect(checks.isIdle).toBe(true);
    expect(lines).toHaveLength(2);
  });

  it("find every transaction that came during a failsafe at the next head", async () => {
    const { checks, open } = setUp();
    const removed: Uint8Array[] = [];
    const remove = (hash: Uint8Array) => removed.push(hash);
    checks.track(hashOf(0), transaction, true);
    checks.setFailsafe(true, remove);
    checks.track(hashOf(1), transaction, true); // its check was under way
    expect(checks.isIncludable(hashOf(1))).toBe(false);
    await checks.onHead(1, () => true, remove);
    expect(removed).toEqual([hashOf(0), hashOf(1)]);
    expect(open).toEqual([]);
  });

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
    expect(open).toHaveLength(10);
    expect(checks.isIncludable(hashOf(0))).toBe(false);
    const second = checks.onHead(2, () => false, remove); // all of them were mined
    expect(checks.isIdle).toBe(true);
    for (const answer of open) answer();
    await Promise.all([first, second]);
    expect(most()).toBe(10);
  });
});
