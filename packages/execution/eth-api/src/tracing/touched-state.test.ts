import { newEngine } from "@rnode/chain";
import type { CallMessage, EvmTracer, TraceDetail } from "@rnode/evm";
import { addressHex, asm, environment, ethereumRules, MemoryState } from "@rnode/evm/testing";
import { bytesToHex, type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { UNLIMITED_WORK } from "../backend/work.ts";
import { AccessListTracer } from "../calls/access-list-tracer.ts";
import { GETH_TRACES, RETH_TRACES, type TraceDialect } from "../profile/trace-dialect.ts";
import { PrestateTracer } from "./prestate-tracer.ts";
import { StateDiffTracer } from "./state-diff.ts";
import type { TransactionTracer } from "./transaction-tracer.ts";

/*
 * Tracers of touched accounts and slots, on random programs: where the engine reports only the instructions that touch something, the results
 * are the same as where it reports all of them.
 */

const SENDER = addressHex(0x5e4d);
const CONTRACTS = [0x1000, 0x2000, 0x3000, 0x4000].map(addressHex);
const DELEGATING = addressHex(0x5000);

let seed = keccak256(Uint8Array.of(16));
let used = 0;
function random(below: number): number {
  if (used === 32) {
    seed = keccak256(seed);
    used = 0;
  }
  return seed[used++]! % below;
}
const oneOf = <T>(values: readonly T[]): T => values[random(values.length)]!;

const ACCOUNTS = [...CONTRACTS, DELEGATING, addressHex(2), addressHex(0x99)];
const GAS = ["GAS", "30000", "3000", "100"];
const called = (): string => oneOf(ACCOUNTS);
const PIECES: readonly (() => string)[] = [
  () => `${random(4)} SLOAD POP`,
  () => `${random(3)} ${random(4)} SSTORE`,
  () => `${called()} ${oneOf(["BALANCE", "EXTCODESIZE", "EXTCODEHASH"])} POP`,
  () => `0 0 4 ${called()} EXTCODECOPY`,
  () => `0 0 4 0 ${random(4) === 0 ? 1 : 0} ${called()} ${oneOf(GAS)} ${oneOf(["CALL", "CALLCODE"])} POP`,
  () => `0 0 4 0 ${called()} ${oneOf(GAS)} ${oneOf(["DELEGATECALL", "STATICCALL"])} POP`,
  // six bytes of code that a creation runs: a store, and a bad one
  () => `0x6001${oneOf(["5f", "54"])}55${oneOf(["00", "fe"])}00 PUSH0 MSTORE 6 26 ${random(3)} CREATE POP`,
  () => `0x60015f5500 PUSH0 MSTORE ${random(3)} 5 27 ${random(3)} CREATE2 POP`,
  () => "1 2 ADD POP",
  () => "0x123456789 MLOAD POP",
  () => `${random(2)} @end JUMPI`,
  () => `${random(4)} 1 PUSH0 LT @end JUMPI SLOAD POP`,
  () => "32 PUSH0 KECCAK256 POP",
  () => oneOf(["POP", "SLOAD", "BALANCE", "INVALID", "0 0 REVERT", `${oneOf(ACCOUNTS)} SELFDESTRUCT`, "STOP"]),
];
const USUAL = PIECES.length - 1;
const program = (): Uint8Array => {
  const pieces = Array.from({ length: 1 + random(8) }, () => (random(40) === 0 ? PIECES[USUAL]! : oneOf(PIECES.slice(0, USUAL)))());
  return asm([...pieces, ":end", random(3) === 0 ? PIECES[USUAL]!() : "STOP"].join(" "));
};

const message = (gasLimit: bigint): CallMessage => ({
  from: hexToBytes(SENDER),
  to: hexToBytes(CONTRACTS[0]!),
  gasLimit,
  value: 0n,
  data: new Uint8Array(0),
  gasPrice: 0n,
});

const engines: Record<"touches" | "steps", ReturnType<typeof newEngine>> = { touches: newEngine(), steps: newEngine() };
const rules = ethereumRules("prague");

const halts = new Set<string>();

/**
 * The result of a tracer for a call, as text. The reason of a failure is not compared: a basic block that lacks stack items fails
 * before one of its instructions can run out of gas for memory.
 */
function traced(detail: "touches" | "steps", state: MemoryState, gasLimit: bigint, tracer: TransactionTracer): string {
  const hooks: EvmTracer & { detail: TraceDetail } = {
    detail,
    onEnter: (entered) => tracer.onEnter?.(entered),
    onStep: (step) => tracer.onStep?.(step),
    onExit: (exited) => tracer.onExit?.(exited),
  };
  const engine = engines[detail];
  engine.setTracer(hooks);
  const execution = engine.beginBlock(rules, environment, state);
  const { from, to, value, data } = message(gasLimit);
  const shown = { from, to, gasLimit, value, input: data, delegations: [], isDeposit: false, isPostExec: false };
  tracer.onStart?.({ message: shown, rules, beneficiary: environment.beneficiary, state: execution, place: undefined });
  const outcome = execution.applyMessage(message(gasLimit));
  halts.add(outcome.halt ?? "none");
  return JSON.stringify({ gas: String(outcome.gasUsed), status: outcome.status, result: tracer.result(outcome) });
}

const prestate = (diffMode: boolean, dialect: TraceDialect) =>
  new PrestateTracer({ diffMode, disableCode: false, disableStorage: false, includeEmpty: false }, dialect);
function accessList(): TransactionTracer {
  const tracer = new AccessListTracer(UNLIMITED_WORK, [], [hexToBytes(SENDER)]);
  const shown = () =>
    tracer.list().map(({ address, storageKeys }) => ({ address: bytesToHex(address), keys: storageKeys.map(bytesToHex) }));
  return { onEnter: (entered) => tracer.onEnter(entered), onStep: (step) => tracer.onStep(step), result: shown };
}

const TRACERS: Readonly<Record<string, () => TransactionTracer>> = {
  "prestateTracer, Geth": () => prestate(false, GETH_TRACES),
  "prestateTracer, Reth": () => prestate(false, RETH_TRACES),
  "prestateTracer with differences, Geth": () => prestate(true, GETH_TRACES),
  "prestateTracer with differences, Reth": () => prestate(true, RETH_TRACES),
  "stateDiff, Geth": () => new StateDiffTracer(GETH_TRACES),
  "stateDiff, Reth": () => new StateDiffTracer(RETH_TRACES),
  "access lists": accessList,
};

describe("tracers of touched state", () => {
  it("say the same whether all instructions are reported or those that touch something", () => {
    const results = new Set<string>();
    const rounds = Number(process.env.RNODE_TRACED_PROGRAMS ?? 60);
    for (let round = 0; round < rounds; round++) {
      const codes = CONTRACTS.map(program);
      const accounts: Record<Hex, { balance: bigint; nonce: bigint; code?: Uint8Array; storage?: Record<Hex, bigint> }> = {
        [SENDER]: { balance: 10n ** 20n, nonce: 1n },
        [DELEGATING]: { balance: 3n, nonce: 1n, code: hexToBytes(`0xef0100${CONTRACTS[1]!.slice(2)}`) },
      };
      for (const [index, code] of codes.entries()) {
        accounts[CONTRACTS[index]!] = { balance: BigInt(index), nonce: 1n, code, storage: { "0x1": 7n, "0x2": 1n } };
      }
      for (const [name, make] of Object.entries(TRACERS)) {
        for (const gas of [1_000_000n, 21_000n + BigInt(random(200) * 97), 100_000n + BigInt(random(256) * 401)]) {
          const expected = traced("steps", new MemoryState(accounts), gas, make());
          const shown = [name, gas, ...codes.map(bytesToHex)];
          expect([...shown, traced("touches", new MemoryState(accounts), gas, make())]).toEqual([...shown, expected]);
          results.add(expected);
        }
      }
    }
    expect(results.size).toBeGreaterThan(rounds * 7);
    for (const halt of ["none", "out-of-gas", "revert", "stack-underflow", "invalid-opcode"]) expect(halts).toContain(halt);
  });
});
