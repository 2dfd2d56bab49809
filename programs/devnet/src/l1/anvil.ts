import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { UserError } from "@rnode/program";
import type { ChainParameters } from "../parameters.ts";

export interface AnvilOptions {
  readonly port: number;
  readonly parameters: ChainParameters;
  /** anvil reads the chain from this file if it exists, and writes it at exit and every `stateIntervalSec` */
  readonly statePath: string;
  readonly stateIntervalSec: number;
}

/** The prebuilt program itself instead of its launcher, because signals must reach it. */
export function anvilBinary(): string {
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${arch}`;
  const file = process.platform === "win32" ? "anvil.exe" : "anvil";
  const require = createRequire(createRequire(import.meta.url).resolve("@foundry-rs/anvil/package.json"));
  try {
    const binary = join(require.resolve(`${name}/package.json`), "..", "bin", file);
    if (existsSync(binary)) return binary;
  } catch {
    // the error below names it
  }
  throw new UserError(
    `anvil has no build for ${process.platform}-${process.arch} (package ${name}): the devnet cannot run its L1 here`,
  );
}

/** A new chain mines on demand until the contracts are deployed; an existing one continues at its interval. */
export function anvilArgs(
  { port, parameters, statePath, stateIntervalSec }: AnvilOptions,
  isNew: boolean,
  nowSec: number,
): string[] {
  return [
    ...["--host", "127.0.0.1", "--port", String(port), "--chain-id", String(parameters.l1ChainId)],
    ...["--hardfork", "prague", "--gas-limit", String(parameters.l1GasLimit), "--no-request-size-limit"],
    ...["--slots-in-an-epoch", String(parameters.l1EpochBlocks), "--order", "fifo"],
    ...["--state", statePath, "--state-interval", String(stateIntervalSec)],
    // room for the deployment's blocks before the present
    ...(isNew ? ["--no-mining", "--timestamp", String(nowSec - 60)] : ["--block-time", String(parameters.l1BlockTimeSec)]),
  ];
}
