import { checkMessage, type SetRules } from "@rnode/interop";
import { INVALID_PARAMS, RpcError } from "@rnode/jsonrpc";
import { isCodedError } from "@rnode/primitives";
import { decodeMessageAccesses, type MessageAccess } from "@rnode/protocol";
import type { CrossUnsafe } from "./cross-unsafe.ts";
import type { LabelledChain } from "./labelled-chain.ts";
import type { SetDatabase } from "./set-database.ts";

export interface AccessListFilterDeps {
  /** all chains of the set */
  readonly chains: readonly LabelledChain[];
  readonly rules: SetRules;
  readonly database: SetDatabase;
  readonly crossUnsafe: Pick<CrossUnsafe, "timestamp" | "readToTimestamp" | "invalid">;
}

/** How safe the block of a message has to be, the least first. */
export const SAFETY_LEVELS = ["unsafe", "cross-unsafe", "local-safe", "safe", "finalized"] as const;
export type SafetyLevel = (typeof SAFETY_LEVELS)[number];

/** The block that is to execute messages. */
export interface Execution {
  /** `undefined` if the caller names none */
  readonly chainId: bigint | undefined;
  /** seconds */
  readonly timestamp: number;
  /** seconds after `timestamp` until which the messages must stay valid */
  readonly timeoutSec: number;
}

/** Spec: docs/protocol/04-rpc.md#interop-filter-errors */
const CODES = {
  uninitialized: -320400,
  skipped: -320500,
  unknownChain: -320501,
  conflict: -320600,
  failsafe: -320602,
  outOfScope: -321100,
} as const;

/** Answers pools whether the messages of a transaction may be executed, from the log of messages. As op-interop-filter; it takes further levels. */
export class AccessListFilter {
  /** set by an operator */
  isStopped = false;
  private readonly deps: AccessListFilterDeps;

  constructor(deps: AccessListFilterDeps) {
    this.deps = deps;
  }

  /** Why all messages are refused; empty: they are not. */
  get failsafe(): readonly string[] {
    const invalid = this.deps.crossUnsafe.invalid.map(
      ({ chainId, block, reason }) =>
        `chain ${chainId} has an invalid message in unsafe block ${block.number} ${block.hash}: ${reason}`,
    );
    return this.isStopped ? ["admin_setFailsafeEnabled", ...invalid] : invalid;
  }

  /** @throws {RpcError} the messages are refused, or cannot be checked */
  check(storageKeys: readonly Uint8Array[], level: SafetyLevel, execution: Execution): void {
    const { rules } = this.deps;
    const [reason] = this.failsafe;
    if (reason !== undefined) throw new RpcError(CODES.failsafe, `failsafe is enabled, all messages are refused: ${reason}`);
    const { chainId } = execution;
    if (chainId === undefined || !rules.chains.has(chainId)) {
      throw new RpcError(CODES.unknownChain, `executing chain ${chainId ?? "(chainID is missing)"}: unknown chain`);
    }
    for (const access of accessesOf(storageKeys)) {
      this.assertSafe(access, level);
      this.assertValid(access, { ...execution, chainId });
    }
  }

  /** @throws {RpcError} the message's block is not at the level yet */
  private assertSafe({ chainId, timestamp }: MessageAccess, level: SafetyLevel): void {
    const { chains, database, crossUnsafe } = this.deps;
    const chain = chains.find((one) => one.chainId === chainId);
    if (chain === undefined) throw new RpcError(CODES.unknownChain, `source chain ${chainId}: unknown chain`);
    const { readToTimestamp: readTo } = crossUnsafe;
    if (readTo === undefined) throw new RpcError(CODES.uninitialized, "the messages of the chains have not been read yet");
    const verified = database.verified.last?.timestamp ?? -1;
    const reached = {
      unsafe: readTo,
      "cross-unsafe": crossUnsafe.timestamp ?? -1,
      "local-safe": chain.labels?.localSafe.timestamp ?? -1,
      safe: verified,
      finalized: Math.min(verified, chain.labels?.finalized.timestamp ?? -1),
    }[level];
    const limit = Math.min(reached, readTo);
    if (timestamp > BigInt(limit)) {
      throw new RpcError(
        CODES.outOfScope,
        `message at timestamp ${timestamp} is not ${level} yet: chain ${chainId} is up to ${limit}`,
      );
    }
  }

  private assertValid(access: MessageAccess, execution: Execution & { readonly chainId: bigint }): void {
    const { rules, database } = this.deps;
    const { chainId, timestamp, timeoutSec } = execution;
    // Messages within one time can form a cycle with others, which nobody sees in one transaction.
    if (access.timestamp >= BigInt(timestamp)) {
      throw new RpcError(CODES.conflict, `message at timestamp ${access.timestamp} is not before its execution at ${timestamp}`);
    }
    for (const at of [timestamp, timestamp + timeoutSec]) {
      const lookup = (one: MessageAccess) => database.messageLog(one.chainId).lookup(one);
      const verdict = checkMessage(rules, { chainId, timestamp: at }, access, lookup);
      if (verdict.kind === "invalid") throw new RpcError(CODES.conflict, verdict.reason);
      if (verdict.kind === "unknown") {
        throw new RpcError(
          CODES.skipped,
          `block ${verdict.blockNumber} of chain ${verdict.chainId} is not in the log of messages any more`,
        );
      }
    }
  }
}

function accessesOf(storageKeys: readonly Uint8Array[]): MessageAccess[] {
  try {
    return decodeMessageAccesses(storageKeys);
  } catch (error) {
    if (!isCodedError(error, "interop/")) throw error;
    throw new RpcError(INVALID_PARAMS, `failed to parse access entry: ${error.message}`);
  }
}
