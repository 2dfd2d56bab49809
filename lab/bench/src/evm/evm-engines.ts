import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createEVM } from "@ethereumjs/evm";
import { SimpleStateManager } from "@ethereumjs/statemanager";
import { createAccount, createAddressFromString } from "@ethereumjs/util";
import { anvilBinary } from "@rnode/devnet";
import { compileEvm, createEvm, type StateReader } from "@rnode/evm";
import { bytesToHex, EMPTY_KECCAK, hexToBytes, keccak256, toQuantity } from "@rnode/primitives";
import { freePort } from "@rnode/program/testing";
import { forkRules } from "@rnode/protocol";
import { Pool } from "undici";
import type { Contract } from "./evm-workloads.ts";

/** Something that runs EVM code. */
export interface BenchEngine {
  readonly name: string;
  /** one call from a fixed sender with plenty of gas, whose effects are discarded */
  call(to: Uint8Array, data: Uint8Array): Promise<{ output: Uint8Array; ms: number }>;
  close(): void;
}

const SENDER = hexToBytes(`0x${"99".repeat(20)}`);
const GAS = 100_000_000_000n;

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Our engine, from the built package. */
export function rnodeEngine(contracts: readonly Contract[]): BenchEngine {
  const wasm = createRequire(import.meta.url).resolve("@rnode/evm/engine.wasm");
  const engine = createEvm(compileEvm(readFileSync(wasm)));
  engine.warmUp();
  const codes = new Map(contracts.map(({ code }) => [bytesToHex(keccak256(code)), code]));
  const accounts = new Map(
    contracts.map(({ address, code }) => [bytesToHex(address), { nonce: 1n, balance: 0n, codeHash: keccak256(code) }]),
  );
  accounts.set(bytesToHex(SENDER), { nonce: 0n, balance: 10n ** 24n, codeHash: EMPTY_KECCAK });
  const reader: StateReader = {
    readAccount: (address) => accounts.get(bytesToHex(address)),
    readStorage: () => undefined,
    readCode: (codeHash) => codes.get(bytesToHex(codeHash))!,
    readBlockHash: () => undefined,
  };
  const rules = { ...forkRules("cancun"), chainId: 31_337n, blobParams: undefined, isDaoForkBlock: false };
  const environment = {
    number: 1n,
    timestamp: 1n,
    beneficiary: new Uint8Array(20),
    gasLimit: GAS,
    baseFeePerGas: 0n,
    difficulty: 0n,
    prevRandao: new Uint8Array(32),
    blobBaseFee: 1n,
  };
  return {
    name: "rnode",
    call(to, data) {
      const started = nowMs();
      const block = engine.beginBlock(rules, environment, reader);
      const { output, halt } = block.call({ from: SENDER, to, gasLimit: GAS, value: 0n, data, gasPrice: 0n });
      const ms = nowMs() - started;
      return halt === undefined ? Promise.resolve({ output, ms }) : Promise.reject(new Error(`rnode: ${halt}`));
    },
    close: () => undefined,
  };
}

/** @ethereumjs/evm on its simple state manager. */
export async function ethereumjsEngine(contracts: readonly Contract[]): Promise<BenchEngine> {
  const common = new Common({ chain: Mainnet, hardfork: Hardfork.Cancun });
  const stateManager = new SimpleStateManager({ common });
  const evm = await createEVM({ common, stateManager });
  const toAddress = (bytes: Uint8Array) => createAddressFromString(bytesToHex(bytes));
  for (const { address, code } of contracts) {
    await stateManager.putAccount(toAddress(address), createAccount({ nonce: 1n }));
    await stateManager.putCode(toAddress(address), code);
  }
  const caller = toAddress(SENDER);
  await stateManager.putAccount(caller, createAccount({ balance: 10n ** 24n }));
  return {
    name: "@ethereumjs/evm",
    async call(to, data) {
      await stateManager.checkpoint();
      const started = nowMs();
      const { execResult } = await evm.runCall({ caller, origin: caller, to: toAddress(to), data, gasLimit: GAS });
      const ms = nowMs() - started;
      await stateManager.revert();
      await evm.journal.cleanup?.();
      if (execResult.exceptionError !== undefined) throw new Error(`@ethereumjs/evm: ${execResult.exceptionError.error}`);
      return { output: execResult.returnValue, ms };
    },
    close: () => undefined,
  };
}

const STARTUP_ATTEMPTS = 100;
const ATTEMPT_PAUSE_MS = 100;
const BASELINE_CALLS = 30;

/** A native client of the revm family, over RPC; the time of an empty call is subtracted. */
export async function anvilEngine(contracts: readonly Contract[]): Promise<BenchEngine> {
  const port = await freePort();
  const limits = ["--gas-limit", GAS.toString(), "--memory-limit", "4000000000"];
  const anvil: ChildProcess = spawn(anvilBinary(), ["--port", String(port), "--silent", "--hardfork", "cancun", ...limits], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1, bodyTimeout: 0, headersTimeout: 0 });
  const rpc = async (method: string, params: readonly unknown[]): Promise<string> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await pool.request({ path: "/", method: "POST", headers: { "content-type": "application/json" }, body });
    const answer = (await response.body.json()) as { result?: string; error?: { message: string } };
    if (answer.error !== undefined) throw new Error(`anvil: ${method}: ${answer.error.message}`);
    return answer.result ?? "";
  };
  for (let attempt = 0; ; attempt++) {
    try {
      await rpc("eth_chainId", []);
      break;
    } catch (error) {
      if (anvil.exitCode !== null || attempt === STARTUP_ATTEMPTS) throw new Error("anvil does not start", { cause: error });
      await new Promise((resolve) => setTimeout(resolve, ATTEMPT_PAUSE_MS));
    }
  }
  for (const { address, code } of contracts) await rpc("anvil_setCode", [bytesToHex(address), bytesToHex(code)]);
  await rpc("anvil_setBalance", [bytesToHex(SENDER), toQuantity(10n ** 24n)]);
  const timed = async (to: string, data: string) => {
    const started = nowMs();
    const output = await rpc("eth_call", [{ from: bytesToHex(SENDER), to, data, gas: toQuantity(GAS) }, "latest"]);
    return { output: hexToBytes(output), ms: nowMs() - started };
  };
  const baseline: number[] = [];
  for (let i = 0; i < BASELINE_CALLS; i++) baseline.push((await timed(bytesToHex(SENDER), "0x")).ms);
  const overheadMs = baseline.sort((a, b) => a - b)[BASELINE_CALLS >> 1]!;
  return {
    name: "anvil",
    async call(to, data) {
      const { output, ms } = await timed(bytesToHex(to), bytesToHex(data));
      return { output, ms: ms - overheadMs };
    },
    close() {
      void pool.destroy();
      anvil.kill("SIGKILL");
    },
  };
}
