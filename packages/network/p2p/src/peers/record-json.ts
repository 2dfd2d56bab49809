import type { PeerScores } from "./peer-api.ts";

/** The JSON values of the peer store; times are unix seconds. Spec: docs/protocol/03-p2p.md#connection-gater-and-bans */

export interface ScoreRecord {
  readonly lastUpdate: number;
  readonly peerScores: PeerScores;
}

export interface PeerMetadata {
  readonly lastUpdate: number;
  readonly peerMetadata: { readonly enr: string; readonly opStackID: number };
}

export interface Ban {
  readonly expiry: number;
  readonly lastUpdate: number;
  /** not in the records of op-node */
  readonly reason: string;
}

export const NO_SCORES: PeerScores = {
  gossip: {
    total: 0,
    blocks: { timeInMesh: 0, firstMessageDeliveries: 0, meshMessageDeliveries: 0, invalidMessageDeliveries: 0 },
    IPColocationFactor: 0,
    behavioralPenalty: 0,
  },
  reqResp: { validResponses: 0, errorResponses: 0, rejectedPayloads: 0 },
};

type Json = Readonly<Record<string, unknown>>;
const asObject = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});
const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
/** A field that is missing is zero, as in Go. */
const numberIn = (json: Json, field: string): number => (isNumber(json[field]) ? json[field] : 0);
const textIn = (json: Json, field: string): string => (typeof json[field] === "string" ? json[field] : "");

export function parseScores(value: unknown): ScoreRecord | undefined {
  const { lastUpdate, peerScores } = asObject(value);
  if (!isNumber(lastUpdate)) return undefined;
  const gossip = asObject(asObject(peerScores).gossip);
  const blocks = asObject(gossip.blocks);
  const reqResp = asObject(asObject(peerScores).reqResp);
  return {
    lastUpdate,
    peerScores: {
      gossip: {
        total: numberIn(gossip, "total"),
        blocks: {
          timeInMesh: numberIn(blocks, "timeInMesh"),
          firstMessageDeliveries: numberIn(blocks, "firstMessageDeliveries"),
          meshMessageDeliveries: numberIn(blocks, "meshMessageDeliveries"),
          invalidMessageDeliveries: numberIn(blocks, "invalidMessageDeliveries"),
        },
        IPColocationFactor: numberIn(gossip, "IPColocationFactor"),
        behavioralPenalty: numberIn(gossip, "behavioralPenalty"),
      },
      reqResp: {
        validResponses: numberIn(reqResp, "validResponses"),
        errorResponses: numberIn(reqResp, "errorResponses"),
        rejectedPayloads: numberIn(reqResp, "rejectedPayloads"),
      },
    },
  };
}

export function parseMetadata(value: unknown): PeerMetadata | undefined {
  const { lastUpdate, peerMetadata } = asObject(value);
  if (!isNumber(lastUpdate)) return undefined;
  const metadata = asObject(peerMetadata);
  return { lastUpdate, peerMetadata: { enr: textIn(metadata, "enr"), opStackID: numberIn(metadata, "opStackID") } };
}

export function parseBan(value: unknown): Ban | undefined {
  const json = asObject(value);
  const { expiry, lastUpdate } = json;
  return isNumber(expiry) && isNumber(lastUpdate) ? { expiry, lastUpdate, reason: textIn(json, "reason") } : undefined;
}

export function parseProtection(value: unknown): { readonly lastUpdate: number } | undefined {
  const { lastUpdate } = asObject(value);
  return isNumber(lastUpdate) ? { lastUpdate } : undefined;
}
