import { isWitnessFile } from "@rnode/chain/stateless";
import type { Decompressor } from "@rnode/derivation";
import type { EvmEngine } from "@rnode/evm";
import type { Hex } from "@rnode/primitives";
import { networkByChainId, networkByName, type RollupConfig, rollupConfigFromJson, rollupConfigOfNetwork } from "@rnode/protocol";
import { type BlockOutcome, checkBlock } from "./check-block.ts";
import { checkData, compareWithBatch, hexPieces } from "./check-data.ts";
import { checkOrigin, compareDeposits } from "./check-origin.ts";
import type { Now, OnStep } from "./steps.ts";

/** The user's input. Empty strings: no input. */
export interface CheckRequest {
  /** JSON of a block with its witness */
  readonly witness: string;
  /** batcher data in hex */
  readonly data: string;
  /** JSON of an L1 block and its receipts */
  readonly origin: string;
  /** name of a network, or JSON of a rollup configuration; default: the network of the witness */
  readonly rollup: string;
  /** what must come out */
  readonly expectedHash: string;
  /** seconds; default: the block's */
  readonly l1Time: string;
}

export interface CheckResult {
  readonly isGood: boolean;
  readonly number: number | undefined;
  readonly hash: Hex | undefined;
  readonly expectedHash: string | undefined;
}

export interface CheckTools {
  readonly engine: () => EvmEngine;
  readonly decompressor: () => Promise<Decompressor>;
  readonly now: Now;
  readonly onStep: OnStep;
}

/** Checks the input, step by step. @throws {Error} the input cannot be parsed, with the reason */
export async function runCheck(request: CheckRequest, tools: CheckTools): Promise<CheckResult> {
  const { onStep, now } = tools;
  const json: unknown = request.witness.trim() === "" ? undefined : parseJson(request.witness, "the block with its witness");
  const pieces = hexPieces(request.data);
  const origin: unknown = request.origin.trim() === "" ? undefined : parseJson(request.origin, "the L1 origin");
  if (json === undefined && pieces.length === 0 && origin === undefined)
    throw new Error("give a block with its witness, L1 data, or both");
  let isGood = true;
  const watching: OnStep = (step) => {
    if (step.state === "bad") isGood = false;
    onStep(step);
  };
  const outcome = json === undefined ? undefined : checkBlock(json, { engine: tools.engine(), now, onStep: watching });
  if (origin !== undefined) {
    const config = rollupOf(request.rollup, json);
    const found = checkOrigin(origin, config, watching);
    if (found !== undefined && outcome !== undefined) compareDeposits(outcome, found, config, watching);
  }
  if (pieces.length > 0) {
    const config = rollupOf(request.rollup, json);
    const l1Time = request.l1Time.trim() === "" ? outcome?.header.timestamp : Number(request.l1Time);
    if (l1Time === undefined)
      throw new Error("L1 data without a block need the time of their L1 block, which decides which rules hold");
    if (!Number.isSafeInteger(l1Time) || l1Time < 0)
      throw new Error(`the time of the L1 block is in seconds, "${request.l1Time}" is no such number`);
    const explanation = await checkData(pieces, l1Time, {
      config,
      decompressor: await tools.decompressor(),
      now,
      onStep: watching,
    });
    if (outcome !== undefined) compareWithBatch(outcome, explanation, origin !== undefined, watching);
  }
  const expectedHash = outcome && compareHash(outcome, request.expectedHash.trim(), watching);
  return { isGood, number: outcome?.header.number, hash: outcome?.hash, expectedHash };
}

function compareHash(outcome: BlockOutcome, wanted: string, onStep: OnStep): string | undefined {
  const expected = wanted === "" ? outcome.expectedHash : wanted.toLowerCase();
  const isSame = expected === undefined || expected === outcome.hash;
  onStep({
    stage: "hash",
    title: expected === undefined ? "The block's hash" : isSame ? "The hash is the expected one" : "The hash is another one",
    state: expected === undefined ? "open" : isSame ? "good" : "bad",
    facts: [
      outcome.hash,
      ...(expected === undefined ? ["nothing was given to compare it with"] : isSame ? [] : [`expected ${expected}`]),
    ],
  });
  return expected;
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${what} is not JSON: ${(cause as Error).message}`, { cause });
  }
}

function rollupOf(given: string, witness: unknown): RollupConfig {
  const text = given.trim();
  if (text.startsWith("{")) return rollupConfigFromJson(parseJson(text, "the rollup configuration"), { unknownKeys: "ignore" });
  if (text !== "") return rollupConfigOfNetwork(text);
  const { chain } = (witness ?? {}) as { chain?: unknown };
  const name = typeof chain === "string" ? networkByName(chain)?.name : networkByChainId(chainIdOf(chain))?.name;
  if (name === undefined || (witness !== undefined && !isWitnessFile(witness) && chain === undefined)) {
    throw new Error("L1 data need the name of a network, or a rollup configuration");
  }
  return rollupConfigOfNetwork(name);
}

function chainIdOf(chain: unknown): bigint {
  const { chainId } = (chain ?? {}) as { chainId?: unknown };
  return typeof chainId === "number" || typeof chainId === "string" ? BigInt(chainId) : -1n;
}
