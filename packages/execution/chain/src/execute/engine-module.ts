import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { compileEvm, createEvm, type EvmEngine, type EvmModule, type EvmOptions } from "@rnode/evm";
import { nativeModules, nativeProblem } from "@rnode/native";
import { createKzgVerifier } from "./kzg.ts";

const require = createRequire(import.meta.url);
let compiled: EvmModule | undefined;
let isWarm = false;

/** The WebAssembly module of the EVM engine, compiled once per process. @throws if the package has not been built */
export function loadEvmModule(): EvmModule {
  compiled ??= compileEvm(readFileSync(require.resolve("@rnode/evm/engine.wasm")));
  return compiled;
}

/** Why elliptic curves are computed in WebAssembly, two to three times slower; undefined: native code is used. */
export const slowCurvesReason = nativeProblem;

/** A new engine. One engine executes one block at a time. */
export function newEngine(options: Pick<EvmOptions, "codeCacheBytes"> = {}): EvmEngine {
  const sha256 = (data: Uint8Array): Uint8Array => createHash("sha256").update(data).digest();
  // native code verifies a KZG proof in half of the time that the library takes in its thread
  const kzg = nativeModules === undefined ? createKzgVerifier() : undefined;
  return createEvm(loadEvmModule(), { ...options, native: nativeModules, kzg, sha256, hashSeed: randomBytes(16) });
}

/** Has V8 optimise the interpreter's code, which all engines of the process share: the first call does it, further ones need not. */
export function warmUpOnce(engine: EvmEngine): void {
  if (isWarm) return;
  isWarm = true;
  engine.warmUp();
}
