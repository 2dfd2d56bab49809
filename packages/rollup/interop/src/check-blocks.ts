import type { BlockMessages } from "./block-messages.ts";
import { chainsInCycles } from "./message-cycles.ts";
import { checkMessage, type MessageLookup, type SetRules } from "./message-rules.ts";

export type SetVerdict =
  /** why the block of a chain is invalid; empty: all are valid */
  | { readonly kind: "checked"; readonly invalid: ReadonlyMap<bigint, string> }
  /** the log of messages lacks a block that a message names */
  | { readonly kind: "unknown"; readonly chainId: bigint; readonly blockNumber: bigint };

/**
 * Checks the messages that the blocks of a set execute at one time.
 *
 * @param blocks the blocks with exactly this time: a chain without one has nothing new to check
 * @param lookup knows all blocks of the set up to this time
 */
export function checkBlocks(
  rules: SetRules,
  timestamp: number,
  blocks: ReadonlyMap<bigint, BlockMessages>,
  lookup: MessageLookup,
): SetVerdict {
  const invalid = new Map<bigint, string>();
  for (const [chainId, { executing }] of blocks) {
    for (const message of executing) {
      const verdict = checkMessage(rules, { chainId, timestamp }, message, lookup);
      if (verdict.kind === "unknown") return verdict;
      if (verdict.kind === "valid") continue;
      invalid.set(chainId, `message of log ${message.executingLogIndex}: ${verdict.reason}`);
      break;
    }
  }
  for (const chainId of chainsInCycles(timestamp, blocks)) {
    if (!invalid.has(chainId)) invalid.set(chainId, `its messages of time ${timestamp} depend on each other in a cycle`);
  }
  return { kind: "checked", invalid };
}
