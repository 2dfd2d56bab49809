import type { MessageAccess } from "@rnode/protocol";

/** What the rules have to know of a chain of the set. */
export interface ChainRules {
  /** seconds: from this time on the chain has Lagoon */
  readonly activationSec: number;
  readonly blockTimeSec: number;
}

export interface SetRules {
  readonly chains: ReadonlyMap<bigint, ChainRules>;
  /** a message can be executed until this many seconds after it was initiated, inclusive */
  readonly expiryWindowSec: number;
}

/** Whether a log with this checksum is at its place; "unknown": nobody has looked at that block yet, or any more. */
export type MessageLookup = (message: MessageAccess) => "exists" | "missing" | "unknown";

export type MessageVerdict =
  | { readonly kind: "valid" }
  | { readonly kind: "invalid"; readonly reason: string }
  /** the log of messages lacks the initiating block */
  | { readonly kind: "unknown"; readonly chainId: bigint; readonly blockNumber: bigint };

const VALID: MessageVerdict = { kind: "valid" };
const invalid = (reason: string): MessageVerdict => ({ kind: "invalid", reason });

/** From the second block of a chain with Lagoon on, its logs can initiate and execute messages. */
const takesPartFrom = ({ activationSec, blockTimeSec }: ChainRules): number => activationSec + blockTimeSec;

/**
 * Whether a message may be executed in a block of a chain. Cycles are looked for apart (`chainsInCycles`).
 * Spec: docs/protocol/01-execution.md#interop-execution
 *
 * @param timestamp of the executing block, in seconds
 */
export function checkMessage(
  rules: SetRules,
  executing: { readonly chainId: bigint; readonly timestamp: number },
  message: MessageAccess,
  lookup: MessageLookup,
): MessageVerdict {
  const executingChain = rules.chains.get(executing.chainId);
  const initiatingChain = rules.chains.get(message.chainId);
  if (executingChain === undefined) return invalid(`chain ${executing.chainId} is not in the dependency set`);
  if (initiatingChain === undefined) return invalid(`chain ${message.chainId} is not in the dependency set`);
  const now = BigInt(executing.timestamp);
  const executesFrom = takesPartFrom(executingChain);
  if (executing.timestamp < executesFrom)
    return invalid(`executed at ${now}, before ${executesFrom}: too early for chain ${executing.chainId}`);
  const initiatesFrom = takesPartFrom(initiatingChain);
  if (message.timestamp < BigInt(initiatesFrom)) {
    return invalid(`initiated at ${message.timestamp}, before ${initiatesFrom}: too early for chain ${message.chainId}`);
  }
  if (message.timestamp > now) return invalid(`initiated at ${message.timestamp}, after its execution at ${now}`);
  const age = now - message.timestamp;
  if (age > BigInt(rules.expiryWindowSec)) return invalid(`expired: ${age} s old, at most ${rules.expiryWindowSec}`);
  switch (lookup(message)) {
    case "exists":
      return VALID;
    case "missing":
      return invalid(
        `chain ${message.chainId} has no such log at block ${message.blockNumber}, index ${message.logIndex}, time ${message.timestamp}`,
      );
    case "unknown":
      return { kind: "unknown", chainId: message.chainId, blockNumber: message.blockNumber };
  }
}
