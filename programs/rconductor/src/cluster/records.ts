import { ConductorError } from "../conductor-error.ts";
import type { KeyValue } from "../etcd/etcd-api.ts";

/** What lies in etcd, as JSON. */

/** How far a member's sequencer could lead: see `HealthVerdict`. */
const FITNESS = ["healthy", "stalled", "unfit", "down"] as const;
export type Fitness = (typeof FITNESS)[number];

/** Under `leader`, as long as the leader's lease lives. */
export interface LeaderRecord {
  readonly id: string;
}

/** Under `transfer`. */
export interface TransferRecord {
  readonly from: string;
  /** the only member that may follow; undefined: any member except `from` */
  readonly to?: string | undefined;
}

/** Under `members/ID`, as long as the member's lease lives. */
export interface MemberRecord {
  readonly id: string;
  /** the conductor's own JSON-RPC server */
  readonly addr: string;
  /** where proxies send requests for the leader */
  readonly executionRpc: string;
  /** the same over WebSocket; undefined: subscriptions are not forwarded */
  readonly executionWs?: string | undefined;
  readonly rollupRpc: string;
  readonly fitness: Fitness;
  /** number of the unsafe head */
  readonly unsafe: number;
}

/** A committed block whose payload is still there. */
export interface PayloadRecord {
  readonly number: number;
  readonly hash: string;
  /** the L1 block that it belongs to: once L1 has replaced it, the committed block is none of the chain's */
  readonly l1Origin: BlockName;
  /** of the leader that committed it */
  readonly fence: number;
  readonly chunks: number;
}

/** A block by number and hash. */
export interface BlockName {
  readonly number: number;
  readonly hash: string;
}

/** Under `head`. */
export interface HeadRecord extends PayloadRecord {
  readonly parentHash: string;
  readonly leader: string;
  /** the blocks before it, the oldest first: for nodes that gossip has not reached */
  readonly recent: readonly PayloadRecord[];
}

/** Under `roster`. Who is in neither list may lead. */
export interface RosterRecord {
  readonly nonvoters: readonly string[];
  readonly removed: readonly string[];
}

/** Under `chain`. */
export interface ChainRecord {
  readonly l2ChainId: string;
  readonly genesis: string;
}

type Fields<T> = { readonly [K in keyof T]-?: (value: unknown) => boolean };

const isText = (value: unknown): boolean => typeof value === "string";
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isOptionalText = (value: unknown): boolean => value === undefined || isText(value);
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

const isBlockName = (value: unknown): boolean => {
  const { number, hash } = (value ?? {}) as Record<string, unknown>;
  return isCount(number) && isText(hash);
};
const isPayload = (value: unknown): boolean => {
  const { l1Origin, fence, chunks } = (value ?? {}) as Record<string, unknown>;
  return isBlockName(value) && isBlockName(l1Origin) && isCount(fence) && isCount(chunks);
};

/** @throws {ConductorError} conductor/bad-record */
function reader<T>(fields: Fields<T>): (pair: KeyValue) => T {
  return ({ key, value }) => {
    const bad = (reason: string): ConductorError => new ConductorError("conductor/bad-record", { key, reason });
    let record: unknown;
    try {
      record = JSON.parse(Buffer.from(value).toString("utf8"));
    } catch {
      throw bad("no JSON");
    }
    if (typeof record !== "object" || record === null) throw bad("no object");
    for (const [name, isRight] of Object.entries(fields) as [string, (value: unknown) => boolean][]) {
      if (!isRight((record as Record<string, unknown>)[name])) throw bad(`${name} is wrong or missing`);
    }
    return record as T;
  };
}

export const readLeader = reader<LeaderRecord>({ id: isText });
export const readTransfer = reader<TransferRecord>({ from: isText, to: isOptionalText });
export const readMember = reader<MemberRecord>({
  id: isText,
  addr: isText,
  executionRpc: isText,
  executionWs: isOptionalText,
  rollupRpc: isText,
  fitness: (value) => FITNESS.some((name) => name === value),
  unsafe: isCount,
});
export const readHead = reader<HeadRecord>({
  number: isCount,
  hash: isText,
  l1Origin: isBlockName,
  parentHash: isText,
  fence: isCount,
  leader: isText,
  chunks: isCount,
  recent: (value) => Array.isArray(value) && value.every(isPayload),
});
export const readRoster = reader<RosterRecord>({ nonvoters: isTexts, removed: isTexts });
export const readChain = reader<ChainRecord>({ l2ChainId: isText, genesis: isText });

export const recordToBytes = (record: object): Uint8Array => Buffer.from(JSON.stringify(record));
