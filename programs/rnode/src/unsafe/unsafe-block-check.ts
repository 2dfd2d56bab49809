import { checkTime, checkTransactions, type L1BlockHeader, type L1Provider, type L2Provider } from "@rnode/derivation";
import { bytesToHex, type Clock, equalBytes, type Hex, isCodedError } from "@rnode/primitives";
import {
  type ExecutionPayloadEnvelope,
  type L1BlockRef,
  type L2BlockRef,
  type PayloadAttributes,
  type RollupConfig,
  type SystemConfig,
  upgradeGasAt,
} from "@rnode/protocol";
import { extraDataOf } from "../common/consolidation.ts";
import { type Trouble, temporary } from "../common/progress.ts";
import { within } from "../common/within.ts";
import type { PrepareAttributes } from "../sequencing/sequencer.ts";
import type { QueuedPayload } from "./unsafe-queue.ts";

export interface UnsafeBlockCheckDeps {
  readonly config: RollupConfig;
  readonly l1: Pick<L1Provider, "blockByHash" | "blockByNumber">;
  /** newest known L1 block */
  readonly l1Head: () => L1BlockRef | undefined;
  readonly l2: Pick<L2Provider, "systemConfigByHash">;
  /** `undefined`: receipts of L1 are not read, and a block is compared with the header of its L1 origin only */
  readonly prepareAttributes: PrepareAttributes | undefined;
  readonly clock: Clock;
}

/** The fault of an unsafe block: label of a metric. */
export type UnsafeBlockFault = "gas-limit" | "l1-origin" | "attributes";

export type UnsafeBlockVerdict =
  | { readonly kind: "right" }
  | { readonly kind: "wrong"; readonly fault: UnsafeBlockFault; readonly reason: string }
  | Trouble;

const RIGHT = { kind: "right" } as const;
const wrong = (fault: UnsafeBlockFault, reason: string): UnsafeBlockVerdict => ({ kind: "wrong", fault, reason });

/** Beyond the limit at the head, by which a gap may have raised it before the engine is asked to fetch the gap. */
const MAX_RAISE = 2n;
/** How long a block waits for L1, and how long L1 is not asked after it did not answer. */
const L1_LIMIT_MS = 1_000;
const L1_PAUSE_MS = 5_000;

const DEPOSIT_TYPE = 0x7e;

/**
 * Compares an unsafe payload with L1 before the engine gets it: a block that derivation cannot accept must not become the unsafe head. L1 blocks
 * that this node does not have yet, or cannot read now, prove nothing: then only the rules that need no L1 apply, and the gas limit is that of the
 * parent. Spec: docs/protocol/02-derivation.md#unsafe-payload-queue
 */
export class UnsafeBlockCheck {
  private readonly deps: UnsafeBlockCheckDeps;
  private l1PausedUntilMs = 0;
  /** the last origin that was found on L1, and the L1 head at that time */
  private onL1: { readonly origin: L1BlockHeader; readonly l1Head: Hex } | undefined;

  constructor(deps: UnsafeBlockCheckDeps) {
    this.deps = deps;
  }

  /** A child of the head: everything that L1 and the head's SystemConfig say about it. */
  async ofChild(parent: L2BlockRef, { ref, envelope }: QueuedPayload): Promise<UnsafeBlockVerdict> {
    if (ref.number !== parent.number + 1) return wrong("attributes", `its parent is block ${parent.number}`);
    const step = stepFault(parent, ref);
    if (step !== undefined) return wrong("l1-origin", step);
    const system = await this.systemConfigOf(parent);
    if ("kind" in system) return system;
    const known = await this.readL1(() => this.originOf(ref));
    if (typeof known === "string") return wrong("l1-origin", known);
    const pair = known && originFault(parent, ref, known);
    if (pair !== undefined) return wrong("l1-origin", pair);
    const { prepareAttributes } = this.deps;
    const prepared = known && prepareAttributes && (await this.readL1(() => prepareAttributes(parent, known)));
    if (known !== undefined && prepared?.kind === "attributes") return this.compare(envelope, ref, known, prepared.attributes);
    const { gasLimit } = envelope.executionPayload;
    const expected = this.limitAt(system, ref);
    // The receipts of a new L1 origin, which are not read, may have another limit.
    const mayChange = prepareAttributes === undefined && ref.sequenceNumber === 0;
    const isRight = mayChange ? gasLimit <= expected * MAX_RAISE : gasLimit === expected;
    return isRight ? RIGHT : wrongGasLimit(gasLimit, expected);
  }

  /** A payload with missing ancestors: its gas limit may have been raised by them, once. */
  async ofDescendant(head: L2BlockRef, { ref, envelope }: QueuedPayload): Promise<UnsafeBlockVerdict> {
    const system = await this.systemConfigOf(head);
    if ("kind" in system) return system;
    const { gasLimit } = envelope.executionPayload;
    const expected = this.limitAt(system, ref);
    if (gasLimit > expected * MAX_RAISE) return wrongGasLimit(gasLimit, expected);
    const known = await this.readL1(() => this.originOf(ref));
    return typeof known === "string" ? wrong("l1-origin", known) : RIGHT;
  }

  private limitAt({ gasLimit }: SystemConfig, { timestamp }: L2BlockRef): bigint {
    return gasLimit + upgradeGasAt(this.deps.config, timestamp);
  }

  private async systemConfigOf({ number, hash }: L2BlockRef): Promise<SystemConfig | Trouble> {
    try {
      const system = await this.deps.l2.systemConfigByHash(hash);
      return system ?? temporary(`the engine does not have the head ${number} ${hash}`);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return temporary(`check of an unsafe payload: ${error.message}`);
    }
  }

  /**
   * PERF: blocks of one epoch read L1 once for each L1 head. @returns the fault; `undefined` if L1 does not have a block of this
   * number yet
   */
  private async originOf({ l1Origin }: L2BlockRef): Promise<L1BlockHeader | string | undefined> {
    const { l1, l1Head } = this.deps;
    const { hash, number } = l1Origin;
    const head = l1Head();
    if (head === undefined || number > head.number) return undefined;
    if (this.onL1?.origin.hash === hash && this.onL1.l1Head === head.hash && this.onL1.origin.number === number)
      return this.onL1.origin;
    const canonical = await l1.blockByNumber(number);
    if (canonical === undefined) return undefined;
    if (canonical.hash !== hash) return `its L1 origin is ${number} ${hash}, but L1 block ${number} is ${canonical.hash}`;
    this.onL1 = { origin: canonical, l1Head: head.hash };
    return canonical;
  }

  /** @returns `undefined` if L1 does not answer in time */
  private async readL1<T>(read: () => Promise<T>): Promise<T | undefined> {
    const { clock } = this.deps;
    if (clock.monotonicMs() < this.l1PausedUntilMs) return undefined;
    const answer = await within({ clock, limitMs: L1_LIMIT_MS }, read);
    if (answer.kind === "done") return answer.value;
    if (answer.kind === "failed" && !isCodedError(answer.error)) throw answer.error;
    this.l1PausedUntilMs = clock.monotonicMs() + L1_PAUSE_MS;
    return undefined;
  }

  /** What derivation demands of every block. Fields that follow from execution are the engine's business. */
  private compare(
    envelope: ExecutionPayloadEnvelope,
    { timestamp }: L2BlockRef,
    origin: L1BlockHeader,
    attributes: PayloadAttributes,
  ): UnsafeBlockVerdict {
    const { config } = this.deps;
    const payload = envelope.executionPayload;
    const forced = attributes.transactions ?? [];
    if (payload.gasLimit !== attributes.gasLimit) return wrongGasLimit(payload.gasLimit, attributes.gasLimit);
    const differs = forced.findIndex((wanted, index) => !isSame(wanted, payload.transactions[index]));
    if (differs === 0) return wrong("attributes", `its L1 attributes are not those of L1 block ${origin.number}`);
    if (differs > 0) return wrong("attributes", `transaction ${differs} is not the deposit that L1 block ${origin.number} demands`);
    const transactions = payload.transactions.slice(forced.length);
    const deposit = transactions.findIndex((transaction) => transaction[0] === DEPOSIT_TYPE);
    if (deposit >= 0) return wrong("attributes", `transaction ${forced.length + deposit} is a deposit that L1 does not have`);
    const dropped =
      checkTransactions(config, timestamp, transactions) ??
      checkTime(config, { timestamp, transactions }, origin, undefined, false);
    if (dropped?.kind === "drop") return wrong("attributes", `derivation drops it: ${dropped.reason}`);
    const { parentBeaconBlockRoot } = envelope;
    const fields: readonly (readonly [string, Uint8Array | undefined, Uint8Array | undefined])[] = [
      ["prevRandao", payload.prevRandao, attributes.prevRandao],
      ["feeRecipient", payload.feeRecipient, attributes.suggestedFeeRecipient],
      ["parentBeaconBlockRoot", parentBeaconBlockRoot, attributes.parentBeaconBlockRoot],
      ["extraData", payload.extraData, extraDataOf(config, attributes)],
    ];
    for (const [name, got, wanted] of fields) {
      if (!isSame(got, wanted)) return wrong("attributes", `its ${name} is ${hexOf(got)} instead of ${hexOf(wanted)}`);
    }
    return payload.withdrawals === undefined || payload.withdrawals.length === 0
      ? RIGHT
      : wrong("attributes", `it has ${payload.withdrawals.length} withdrawals`);
  }
}

const wrongGasLimit = (got: bigint, expected: bigint | undefined): UnsafeBlockVerdict =>
  wrong("gas-limit", `its gas limit is ${got}, but L1 allows ${expected}`);

/** The L1 origin of a block is that of its parent, or the L1 block after it; `sequenceNumber` counts the blocks of one origin. */
function stepFault(parent: L2BlockRef, { l1Origin, sequenceNumber }: L2BlockRef): string | undefined {
  const { hash, number } = parent.l1Origin;
  const isSameOrigin = l1Origin.number === number;
  if (!isSameOrigin && l1Origin.number !== number + 1) return `its L1 origin is ${l1Origin.number}, that of its parent ${number}`;
  if (isSameOrigin && l1Origin.hash !== hash) return `its L1 origin is ${number} ${l1Origin.hash}, that of its parent ${hash}`;
  const expected = isSameOrigin ? parent.sequenceNumber + 1 : 0;
  return sequenceNumber === expected ? undefined : `its sequence number is ${sequenceNumber} instead of ${expected}`;
}

function originFault(parent: L2BlockRef, { timestamp }: L2BlockRef, origin: L1BlockHeader): string | undefined {
  if (timestamp < origin.timestamp)
    return `its time ${timestamp} is before ${origin.timestamp}, that of its L1 origin ${origin.number}`;
  const isNext = origin.number !== parent.l1Origin.number;
  if (!isNext || origin.parentHash === parent.l1Origin.hash) return undefined;
  return `its L1 origin ${origin.number} does not build on ${parent.l1Origin.hash}, that of its parent`;
}

const hexOf = (bytes: Uint8Array | undefined): string => (bytes === undefined ? "none" : bytesToHex(bytes));

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalBytes(a, b);
}
