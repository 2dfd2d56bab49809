import { readFileSync } from "node:fs";
import { compileEvm, type EngineExports, type EvmModule, instantiate } from "../engine/module.ts";

const wasm = new URL("../../build/engine.wasm", import.meta.url);

/** The built engine; `node packages/execution/evm/scripts/build-engine.mjs` makes it. */
export const engineModule: EvmModule = compileEvm(readFileSync(wasm));

const noHost = (): never => {
  throw new Error("the engine called its host");
};

/** An instance without a host, for tests of the parts that need none. */
export function bareEngine(): EngineExports & Record<string, (...args: (number | bigint)[]) => number | bigint> {
  const names = [
    ...["loadAccount", "loadStorage", "loadCode", "hasStorage", "blockHash", "newCode", "precompile", "outOfMemory"],
    ...["traceStep", "traceEnter", "traceExit", "traceSelfDestruct", "traceLog"],
  ];
  const host: Record<string, unknown> = Object.fromEntries(names.map((name) => [name, noHost]));
  host.memoryGrown = () => undefined;
  host.slice = () => undefined;
  host.longStep = () => undefined;
  return instantiate(engineModule, host) as EngineExports & Record<string, (...args: (number | bigint)[]) => number | bigint>;
}
