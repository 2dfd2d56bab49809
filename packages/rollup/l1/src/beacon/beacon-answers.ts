import { type BytesErrorCode, CodedError, hexToFixedBytes } from "@rnode/primitives";
import { BLOB_BYTES } from "@rnode/protocol";
import { faultyAnswer, readAnswer } from "../l1-error.ts";

/** An endpoint's blob, unchecked. */
export interface BlobCandidate {
  readonly blob: Uint8Array;
  /** 48 bytes each; both or none */
  readonly commitment?: Uint8Array | undefined;
  readonly proof?: Uint8Array | undefined;
}

/** The used part of the beacon chain's configuration. */
export interface BeaconSpec {
  readonly slotSec: number;
  readonly slotsPerEpoch: number;
  /** `undefined`: unknown to the node, or not scheduled */
  readonly fuluEpoch: number | undefined;
  /** how long nodes must keep blobs */
  readonly blobRetentionEpochs: number;
  /** the chain id of its L1; `undefined` if the node does not report it */
  readonly l1ChainId: bigint | undefined;
}

const POINT_BYTES = 48;
const DEFAULT_SLOTS_PER_EPOCH = 32;
/** MIN_EPOCHS_FOR_BLOB_SIDECARS_REQUESTS */
const DEFAULT_BLOB_RETENTION_EPOCHS = 4_096;
const MAX_SLOT_SEC = 3_600;

/** `GET /eth/v2/node/version`, which names the client in parts, or `/eth/v1/node/version` */
export function readVersion(json: unknown): string {
  const { version, beacon_node: node } = dataObject("node version", json);
  if (typeof version === "string") return version;
  const { name, version: number } = (node ?? {}) as { readonly name?: unknown; readonly version?: unknown };
  if (typeof name !== "string" || typeof number !== "string") throw faultyAnswer("node version");
  return `${name}/${number}`;
}

/** `GET /eth/v1/beacon/genesis`: seconds since the epoch */
export function readGenesisTime(json: unknown): number {
  const time = decimal(dataObject("beacon genesis", json).genesis_time);
  if (time === undefined) throw faultyAnswer("beacon genesis", { field: "genesis_time" });
  return time;
}

/** `GET /eth/v1/config/spec` */
export function readSpec(json: unknown): BeaconSpec {
  const data = dataObject("beacon spec", json);
  const slotMs = decimal(data.SLOT_DURATION_MS);
  const slotSec = decimal(data.SECONDS_PER_SLOT) ?? (slotMs === undefined ? undefined : slotMs / 1_000);
  if (slotSec === undefined || !Number.isInteger(slotSec) || slotSec === 0 || slotSec > MAX_SLOT_SEC) {
    const got = String(data.SECONDS_PER_SLOT ?? data.SLOT_DURATION_MS);
    throw faultyAnswer("beacon spec", { field: "SLOT_DURATION_MS or SECONDS_PER_SLOT", got });
  }
  return {
    slotSec,
    slotsPerEpoch: decimal(data.SLOTS_PER_EPOCH) || DEFAULT_SLOTS_PER_EPOCH,
    fuluEpoch: decimal(data.FULU_FORK_EPOCH),
    blobRetentionEpochs: decimal(data.MIN_EPOCHS_FOR_BLOB_SIDECARS_REQUESTS) ?? DEFAULT_BLOB_RETENTION_EPOCHS,
    l1ChainId: readChainId(data.DEPOSIT_CHAIN_ID),
  };
}

/** `GET /eth/v1/beacon/blobs/<slot>`: blobs without proofs, in the order of the block */
export function readBlobs(json: unknown): BlobCandidate[] {
  return dataList("blobs", json).map((item) => readAnswer("blob", () => ({ blob: fixedBytes(item, BLOB_BYTES) })));
}

/** `GET /eth/v1/beacon/blob_sidecars/<slot>`; some archivers leave out the proof */
export function readSidecars(json: unknown): BlobCandidate[] {
  return dataList("blob sidecars", json).map((item) => {
    const { blob, kzg_commitment: commitment, kzg_proof: proof } = asObject("blob sidecar", item);
    return readAnswer("blob sidecar", () => {
      const read = { blob: fixedBytes(blob, BLOB_BYTES), commitment: fixedBytes(commitment, POINT_BYTES) };
      return proof === undefined ? read : { ...read, proof: fixedBytes(proof, POINT_BYTES) };
    });
  });
}

function dataObject(what: string, json: unknown): Record<string, unknown> {
  return asObject(what, asObject(what, json).data);
}

function dataList(what: string, json: unknown): readonly unknown[] {
  const { data } = asObject(what, json);
  if (!Array.isArray(data)) throw faultyAnswer(what, { reason: "no list" });
  return data;
}

function asObject(what: string, value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw faultyAnswer(what, { reason: "no object" });
  return value as Record<string, unknown>;
}

function fixedBytes(value: unknown, length: number): Uint8Array {
  if (typeof value !== "string") throw new CodedError<BytesErrorCode>("bytes/not-hex");
  return hexToFixedBytes(value, length);
}

/** The API has numbers as decimal strings. `undefined`: not a number, or too large (the time of an unscheduled upgrade). */
function decimal(value: unknown): number | undefined {
  if (typeof value !== "string" || !/^\d{1,20}$/.test(value)) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}

const readChainId = (value: unknown): bigint | undefined =>
  typeof value === "string" && /^\d{1,20}$/.test(value) ? BigInt(value) : undefined;
