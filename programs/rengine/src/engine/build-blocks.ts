import { setImmediate } from "node:timers/promises";
import type { ForcedBlock, ForkchoiceState, PreparedBlock, SenderSource } from "@rnode/chain";
import type { JsonObject, Profile } from "@rnode/eth-api";
import { rpcErrorOf } from "@rnode/jsonrpc";
import { bytesToHex, isCodedError } from "@rnode/primitives";
import {
  decodeTransaction,
  hashTransaction,
  type PayloadAttributes,
  type PayloadStatusV1,
  type Transaction,
} from "@rnode/protocol";
import type { ChainSync } from "@rnode/sync";
import { statusToJson } from "./engine-results.ts";

export const MAX_BLOCKS = 1024;
/** How long one request may take. */
const LIMIT_MS = 1500;
/** Time limit of one step; afterwards the process, which serves the whole Engine API, handles other requests. */
const STEP_LIMIT_MS = 300;
/** PERF: while these are executed, a worker recovers the senders of the next ones; they are committed together. */
const BLOCKS_PER_STEP = 64;
/** PERF: the senders of the first blocks are not recovered yet. */
const BLOCKS_OF_FIRST_STEP = 32;

export interface BuildBlocksServices {
  readonly heads: Pick<ChainSync, "extend">;
  readonly profile: Profile;
  readonly senders: Pick<SenderSource, "recoverAhead" | "remember">;
  readonly nowMs: () => number;
}

/**
 * Builds blocks that a rollup node derived from L1. What would take a rollup node four calls a block, with the whole block as JSON in
 * both directions and a commit each, takes one call and a few commits.
 *
 * @throws {RpcError} the fork choice is refused
 */
export async function buildBlocks(
  state: ForkchoiceState,
  wanted: readonly PayloadAttributes[],
  { heads, profile, senders, nowMs }: BuildBlocksServices,
): Promise<JsonObject> {
  const deadlineMs = nowMs() + LIMIT_MS;
  const built: PreparedBlock[] = [];
  const answer = (status: PayloadStatusV1, refusal: JsonObject | null): JsonObject => ({
    payloadStatus: statusToJson(status),
    headers: built.map(({ encodedHeader }) => bytesToHex(encodedHeader)),
    refusal,
  });
  const valid: PayloadStatusV1 = { status: "VALID", latestValidHash: bytesToHex(state.headBlockHash) };
  const steps = stepsOf(wanted);
  let recovered = recoverSenders(steps[0]!, senders, true);
  for (let isFirst = true; ; isFirst = false) {
    const blocks = steps.shift();
    if (blocks === undefined) break;
    await recovered;
    if (!isFirst) await setImmediate(); // others have their turn, even if the senders were there already
    recovered = recoverSenders(steps[0] ?? [], senders, false);
    recovered.catch(() => {}); // reported when it is awaited, if it is
    const usesPool = blocks.findIndex(({ attributes }) => attributes.noTxPool !== true);
    const allowed = usesPool === -1 ? blocks : blocks.slice(0, usesPool);
    const headBlockHash = built.at(-1)?.hash ?? state.headBlockHash;
    const limitMs = Math.max(0, Math.min(STEP_LIMIT_MS, deadlineMs - nowMs()));
    const result = await heads.extend({ ...state, headBlockHash }, allowed, limitMs);
    if (result.kind === "invalid-state") {
      if (built.length > 0) return answer(valid, null); // another request has moved the labels; the next call reports it
      throw rpcErrorOf(profile.errors.forkchoice(result.reason));
    }
    const { status, refusal } = result;
    if (status.status !== "VALID") return answer(built.length > 0 ? valid : status, null);
    built.push(...result.blocks);
    if (refusal !== undefined) {
      const { code, message } = profile.errors.attributes(refusal.fault, refusal.reason);
      return answer(valid, { code, message });
    }
    const { length } = result.blocks;
    if (length < allowed.length) steps.unshift(blocks.slice(length));
    else if (usesPool !== -1) return answer(valid, USES_POOL);
    if (nowMs() >= deadlineMs) break;
  }
  return answer(valid, null);
}

const USES_POOL = { code: -38_003, message: "noTxPool must be true: this method adds no transactions from the pool" };

/** At least one step, so that the fork choice is made even if nothing is to be built. */
function stepsOf(wanted: readonly PayloadAttributes[]): ForcedBlock[][] {
  const steps: ForcedBlock[][] = [[]];
  for (const attributes of wanted) {
    const most = steps.length === 1 ? BLOCKS_OF_FIRST_STEP : BLOCKS_PER_STEP;
    if (steps.at(-1)!.length === most) steps.push([]);
    steps.at(-1)!.push({ attributes, transactions: decodedTransactions(attributes) });
  }
  return steps;
}

/** undefined: they cannot be decoded; the chain reports this when it reaches them */
function decodedTransactions({ transactions = [] }: PayloadAttributes): readonly Transaction[] | undefined {
  try {
    return transactions.map(decodeTransaction);
  } catch (error) {
    if (!isCodedError(error, "tx/")) throw error;
    return undefined;
  }
}

/** Recovers the senders of many blocks at once. A signature that is invalid is left to the chain, which reports why. */
async function recoverSenders(
  blocks: readonly ForcedBlock[],
  senders: Pick<SenderSource, "recoverAhead" | "remember">,
  isWaiting: boolean,
): Promise<void> {
  const transactions = blocks.flatMap((block) => block.transactions ?? []);
  const recovered = await senders.recoverAhead(transactions, isWaiting);
  for (const [index, sender] of (recovered ?? []).entries()) {
    const transaction = transactions[index]!;
    if (transaction.type !== 0x7e) senders.remember(hashTransaction(transaction), sender);
  }
}
