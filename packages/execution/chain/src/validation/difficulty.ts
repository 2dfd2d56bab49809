import { EMPTY_OMMERS_HASH, type ExactInteger, equalBytes } from "@rnode/primitives";
import { type BlockRules, type ChainConfig, exactTimestamp, type Header } from "@rnode/protocol";

const MIN_DIFFICULTY = 131_072n;
const BOUND_DIVISOR = 2048n;
const BOMB_PERIOD_BLOCKS = 100_000;
const LOWEST_STEP = -99;
/** Frontier: a block that takes less than this makes the next one harder */
const FRONTIER_DURATION_SEC = 13;
const HOMESTEAD_STEP_SEC = 10;
const BYZANTIUM_STEP_SEC = 9;

/** The total delay of the difficulty bomb, in blocks, by forks that do nothing else: EIP-2384, 4345, 5133 */
const BOMB_DELAY = { muirGlacier: 9_000_000, arrowGlacier: 10_700_000, grayGlacier: 11_400_000 } as const;

export type DifficultyParent = Pick<Header, "number" | "timestamp" | "exact" | "difficulty" | "ommersHash">;

/** Above this the bomb alone exceeds the 256 bits of a difficulty, whatever the exact number. */
const MAX_BOMB_EXPONENT = 256;

/** The required difficulty of a proof-of-work block. Spec: yellow paper §4.4.4, EIP-2, EIP-100 and the bomb delays */
export function expectedDifficulty(
  config: ChainConfig,
  rules: BlockRules,
  parent: DifficultyParent,
  timestampSec: ExactInteger,
): bigint {
  const elapsedSec = Number(BigInt(timestampSec) - BigInt(exactTimestamp(parent)));
  const number = parent.number + 1;
  const unit = parent.difficulty / BOUND_DIVISOR;
  if (rules.difficultyAdjustment === "threshold") {
    const adjusted = atLeastMinimum(elapsedSec < FRONTIER_DURATION_SEC ? parent.difficulty + unit : parent.difficulty - unit);
    return atLeastMinimum(adjusted + bomb(number));
  }
  if (rules.difficultyAdjustment === "steps") {
    const step = Math.max(1 - Math.floor(elapsedSec / HOMESTEAD_STEP_SEC), LOWEST_STEP);
    return atLeastMinimum(parent.difficulty + unit * BigInt(step)) + bomb(number);
  }
  const base = equalBytes(parent.ommersHash, EMPTY_OMMERS_HASH) ? 1 : 2;
  const step = Math.max(base - Math.floor(elapsedSec / BYZANTIUM_STEP_SEC), LOWEST_STEP);
  return atLeastMinimum(parent.difficulty + unit * BigInt(step)) + bomb(Math.max(0, number - bombDelay(config, rules, number)));
}

const atLeastMinimum = (difficulty: bigint): bigint => (difficulty < MIN_DIFFICULTY ? MIN_DIFFICULTY : difficulty);

/** 2^(periods − 2), 0 in the first two periods */
function bomb(number: number): bigint {
  const periods = Math.floor(number / BOMB_PERIOD_BLOCKS);
  return periods > 1 ? 1n << BigInt(Math.min(periods - 2, MAX_BOMB_EXPONENT)) : 0n;
}

function bombDelay({ difficultyBombBlocks = {} }: ChainConfig, { bombDelayBlocks }: BlockRules, number: number): number {
  let delay = bombDelayBlocks;
  for (const fork of ["muirGlacier", "arrowGlacier", "grayGlacier"] as const) {
    const activation = difficultyBombBlocks[fork];
    if (activation !== undefined && number >= activation) delay = Math.max(delay, BOMB_DELAY[fork]);
  }
  return delay;
}
