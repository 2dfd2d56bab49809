import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { compileEvm, createEvm, type EvmEngine, type EvmModule, type EvmOptions } from "@rnode/evm";
import { createKzgVerifier } from "./kzg.ts";

const require = createRequire(import.meta.url);
let compiled: EvmModule | undefined;

/** The EVM engine's WebAssembly, compiled once a process. @throws when the package was not built */
export function loadEvmModule(): EvmModule {
  compiled ??= compileEvm(readFileSync(require.resolve("@rnode/evm/engine.wasm")));
  return compiled;
}

/** A new engine: one instance executes one block at a time. */
export function newEngine(options: Pick<EvmOptions, "codeCacheBytes"> = {}): EvmEngine {
  return createEvm(loadEvmModule(), { ...options, kzg: createKzgVerifier(), hashSeed: randomBytes(16) });
}
