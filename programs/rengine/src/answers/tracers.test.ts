import type { Hex } from "@rnode/primitives";
import { createWalletClient, defineChain, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Anvil, anvilBinary, startAnvil } from "../testing/anvil.ts";
import { CHAIN_ID, RICH_ADDRESS, RICH_BALANCE, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";
import { AUTHORITY_KEY, CALLEE_CREATION, type Scenario, traceScenarios } from "../testing/trace-scenarios.ts";

const chain = defineChain({
  id: CHAIN_ID,
  name: "test",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [] } },
});
const account = privateKeyToAccount(RICH_KEY);
const binary = anvilBinary();
/** Created by the account's first transaction. */
const CALLEE: Hex = "0x0000000000000000000000000000000000000000";

interface StructLog {
  op: string;
  gas: number;
  gasCost: number;
  error?: string;
  [key: string]: unknown;
}
interface Frame {
  gas?: string;
  error?: string;
  calls?: Frame[];
}

interface FlatTrace {
  result: { gasUsed: string } | null;
}
interface VmTrace {
  ops: { pc: number; op: string; cost: number; ex: { used: number; push: string[] } | null; sub: VmTrace | null }[];
}
interface Replay {
  output: Hex;
  trace: FlatTrace[];
  stateDiff: Record<string, object>;
  vmTrace: VmTrace;
}

/** anvil distinguishes several reasons for running out of gas. */
const plainError = (text: string | undefined): string | undefined =>
  text
    ?.replace(/^out of gas: .*/, "out of gas")
    .replace(/Some\((MemoryOOG|InvalidOperandOOG|ReentrancySentryOOG)\)/, "Some(OutOfGas)");
const plainFrame = (frame: Frame): Frame => ({
  ...frame,
  ...(frame.error !== undefined && { error: plainError(frame.error)! }),
  ...(frame.calls !== undefined && { calls: frame.calls.map(plainFrame) }),
});

/** Accounts whose balances fees change; they differ between the two chains. */
const PAID = new Set([
  RICH_ADDRESS,
  "0x0000000000000000000000000000000000000000",
  ...["0011", "0019", "001a", "001b"].map((end) => `0x4200${end.padStart(36, "0")}`),
]);
const withoutFees = (accounts: Record<string, object>) =>
  Object.fromEntries(Object.entries(accounts).filter(([address]) => !PAID.has(address.toLowerCase())));

describe.skipIf(binary === undefined)("traces are those of anvil", () => {
  let node: TestClient;
  let anvil: Anvil;
  const hashes = new Map<string, Hex>();
  let scenarios: Scenario[] = [];
  let callee: Hex = CALLEE;

  beforeAll(async () => {
    node = await startTestClient(["--http.api=eth,debug,trace,txpool"]);
    anvil = await startAnvil(binary!, [
      "--hardfork",
      "prague",
      "--chain-id",
      String(CHAIN_ID),
      "--accounts",
      "0",
      "--steps-tracing",
    ]);
    await anvil.rpc.call("anvil_setBalance", [RICH_ADDRESS, `0x${RICH_BALANCE.toString(16)}`]);
    const wallet = createWalletClient({ account, chain, transport: http(node.httpUrl) });
    let nonce = 0;
    const authority = privateKeyToAccount(AUTHORITY_KEY);
    const send = async ({ to, data, value, gas, delegates = false }: Omit<Scenario, "name">): Promise<Hex> => {
      const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n };
      const common = { to: to ?? null, data, value, gas, nonce: nonce++, ...fees };
      const signed = delegates
        ? await wallet.signTransaction({
            ...common,
            type: "eip7702",
            authorizationList: [await authority.signAuthorization({ contractAddress: callee, chainId: CHAIN_ID, nonce: 0 })],
          })
        : await wallet.signTransaction({ ...common, type: "eip1559" });
      const hash = await node.rpc.call<Hex>("eth_sendRawTransaction", [signed]);
      expect(await anvil.rpc.call("eth_sendRawTransaction", [signed])).toBe(hash);
      return hash;
    };
    const deployment = await send({ to: undefined, data: CALLEE_CREATION, value: 0n, gas: 1_000_000n });
    await node.buildBlock();
    callee = (await node.rpc.call<{ contractAddress: Hex }>("eth_getTransactionReceipt", [deployment])).contractAddress;
    scenarios = traceScenarios(callee);
    for (const scenario of scenarios) hashes.set(scenario.name, await send(scenario));
    while ((await node.rpc.call<{ pending: string }>("txpool_status", []).catch(() => ({ pending: "0x0" }))).pending !== "0x0")
      await node.buildBlock();
    await node.buildBlock();
  });
  afterAll(async () => {
    await anvil?.stop();
    await node?.remove();
  });

  const both = async <T>(name: string, options: object): Promise<readonly [ours: T, theirs: T]> => {
    const params = [hashes.get(name), options];
    return [await node.rpc.call<T>("debug_traceTransaction", params), await anvil.rpc.call<T>("debug_traceTransaction", params)];
  };

  describe.each(traceScenarios(CALLEE).map(({ name }) => name))("%s", (name) => {
    it("struct logger", async () => {
      type Result = { gas: number; failed: boolean; structLogs: StructLog[] };
      const [ours, theirs] = await both<Result>(name, { enableMemory: true, enableReturnData: true });
      const plain = (logs: StructLog[]) =>
        logs.map((log) => {
          const error = plainError(log.error);
          // the gas left when it runs out depends on how far the instruction got
          const plainLog: StructLog = {
            ...log,
            ...(error !== undefined && { error }),
            ...(error === "Some(OutOfGas)" && { gasCost: 0 }),
          };
          // for a forbidden write, we show what it would have written, anvil what is in the slot
          if (error !== undefined) delete plainLog.storage;
          return plainLog;
        });
      const [own, other] = [plain(ours.structLogs), plain(theirs.structLogs)];
      for (const [index, log] of other.entries()) expect({ index, ...own[index] }).toEqual({ index, ...log });
      expect({ ...ours, structLogs: own.length }).toEqual({ ...theirs, structLogs: other.length });
    });

    it("callTracer", async () => {
      const [ours, theirs] = await both<Frame>(name, { tracer: "callTracer", tracerConfig: { withLog: true } });
      const { gas: _, ...own } = ours;
      const { gas: __, ...other } = plainFrame(theirs); // anvil's gas is without the intrinsic gas
      expect(own).toEqual(other);
    });

    it("prestateTracer", async () => {
      for (const tracerConfig of [{}, { disableStorage: true }, { disableCode: true }]) {
        const [ours, theirs] = await both<Record<string, object>>(name, { tracer: "prestateTracer", tracerConfig });
        expect(withoutFees(ours)).toEqual(withoutFees(theirs));
      }
    });

    it("prestateTracer with differences", async () => {
      type Diff = { pre: Record<string, object>; post: Record<string, object> };
      const [ours, theirs] = await both<Diff>(name, { tracer: "prestateTracer", tracerConfig: { diffMode: true } });
      expect(withoutFees(ours.post)).toEqual(withoutFees(theirs.post));
      expect(withoutFees(ours.pre)).toEqual(withoutFees(theirs.pre));
    });

    it("4byteTracer", async () => {
      const [ours, theirs] = await both(name, { tracer: "4byteTracer" });
      expect(ours).toEqual(theirs);
    });

    it("trace_replayTransaction", async () => {
      const hash = hashes.get(name)!;
      const types = ["trace", "vmTrace", "stateDiff"];
      const ours = await node.rpc.call<Replay>("trace_replayTransaction", [hash, types]);
      const { blockNumber } = await anvil.rpc.call<{ blockNumber: Hex }>("eth_getTransactionReceipt", [hash]);
      const [theirs] = await anvil.rpc.call<[Replay]>("trace_replayBlockTransactions", [blockNumber, types]);
      expect(ours.output).toBe(theirs.output);
      expect(ours.trace).toEqual(theirs.trace);
      expect(withoutFees(ours.stateDiff)).toEqual(withoutFees(theirs.stateDiff));
      expect(operations(ours.vmTrace)).toEqual(operations(theirs.vmTrace));
    });
  });
});

/**
 * The parts of the first message's instructions on which both agree. anvil looks before a call has pushed its result, attaches
 * sub-traces to the wrong calls, and the last instruction may have failed.
 */
const operations = ({ ops }: VmTrace): object[] =>
  ops.map(({ pc, op, cost, ex }, index) => {
    const isCall = /CALL$|CALLCODE|CREATE/.test(op);
    const isLast = index === ops.length - 1;
    return { pc, op, used: ex?.used, ...(!isCall && !isLast && { cost, push: ex?.push }) };
  });
