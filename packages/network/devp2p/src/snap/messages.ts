import { encodeRlp, type RlpItem, RlpWriter, rlpUint } from "@rnode/primitives";
import { RlpCursor } from "../rlpx/rlp-cursor.ts";

/** Codes of snap/1, from its first one on. Spec: https://github.com/ethereum/devp2p/blob/master/caps/snap.md */
export const SNAP = {
  getAccountRange: 0x00,
  accountRange: 0x01,
  getStorageRanges: 0x02,
  storageRanges: 0x03,
  getByteCodes: 0x04,
  byteCodes: 0x05,
  getTrieNodes: 0x06,
  trieNodes: 0x07,
} as const;
export const SNAP_VERSION = 1;
export const SNAP_MESSAGES = 8;

/** of hashes or paths in a request; Geth asks for at most 1,024 */
const MAX_REQUESTED = 4_096;
/** of rows, codes or nodes in an answer; its bytes are bounded before */
const MAX_ITEMS = 1 << 18;
/** two paths through a trie of 32-byte keys */
const MAX_PROOF_NODES = 130;

export interface AccountRangeRequest {
  readonly root: Uint8Array;
  /** the first hash, 32 bytes */
  readonly origin: Uint8Array;
  /** the range ends at the first account from this hash on */
  readonly limit: Uint8Array;
  /** the answer is complete when its rows have this size */
  readonly bytes: number;
}

export interface StorageRangesRequest {
  readonly root: Uint8Array;
  /** hashes of accounts */
  readonly accounts: readonly Uint8Array[];
  /** of the first account; empty: all of its slots */
  readonly origin: Uint8Array;
  readonly limit: Uint8Array;
  readonly bytes: number;
}

export interface ByteCodesRequest {
  readonly hashes: readonly Uint8Array[];
  readonly bytes: number;
}

export interface TrieNodesRequest {
  readonly root: Uint8Array;
  /** a hex-prefixed path of the account trie; or the hash of an account, and hex-prefixed paths of its storage trie */
  readonly paths: readonly (readonly Uint8Array[])[];
  readonly bytes: number;
}

/** A request as it was received. */
export type Received<T> = T & { readonly id: bigint };

/** A row of a trie: the hash that is its key, and its encoded value. */
export interface RangeRow {
  readonly hash: Uint8Array;
  /** of an account: its slim RLP (slim-account.ts). Of a slot: the RLP of its value */
  readonly body: Uint8Array;
}

export interface AccountRange {
  readonly accounts: readonly RangeRow[];
  /** nodes on the paths to the origin and to the last row */
  readonly proof: readonly Uint8Array[];
}

export interface StorageRanges {
  /** by account */
  readonly slots: readonly (readonly RangeRow[])[];
  /** of the last list; empty: it has all slots of its account */
  readonly proof: readonly Uint8Array[];
}

const requestOf = (id: number, fields: readonly RlpItem[], bytes: number): Uint8Array =>
  encodeRlp([rlpUint(id), ...fields, rlpUint(bytes)]);

export const encodeAccountRangeRequest = (id: number, { root, origin, limit, bytes }: AccountRangeRequest): Uint8Array =>
  requestOf(id, [root, origin, limit], bytes);

/** @throws {CodedError} rlp/*, as all decoders here */
export function decodeAccountRangeRequest(data: Uint8Array): Received<AccountRangeRequest> {
  const fields = RlpCursor.ofMessage(data);
  return {
    id: fields.uint(),
    root: fields.string(32).slice(),
    origin: fields.string(32).slice(),
    limit: fields.string(32).slice(),
    bytes: fields.number(),
  };
}

export const encodeStorageRangesRequest = (
  id: number,
  { root, accounts, origin, limit, bytes }: StorageRangesRequest,
): Uint8Array => requestOf(id, [root, accounts, origin, limit], bytes);

export function decodeStorageRangesRequest(data: Uint8Array): Received<StorageRangesRequest> {
  const fields = RlpCursor.ofMessage(data);
  return {
    id: fields.uint(),
    root: fields.string(32).slice(),
    accounts: fields.list().all(hash, MAX_REQUESTED),
    origin: hashOrNothing(fields),
    limit: hashOrNothing(fields),
    bytes: fields.number(),
  };
}

export const encodeByteCodesRequest = (id: number, { hashes, bytes }: ByteCodesRequest): Uint8Array =>
  requestOf(id, [hashes], bytes);

export function decodeByteCodesRequest(data: Uint8Array): Received<ByteCodesRequest> {
  const fields = RlpCursor.ofMessage(data);
  return { id: fields.uint(), hashes: fields.list().all(hash, MAX_REQUESTED), bytes: fields.number() };
}

export const encodeTrieNodesRequest = (id: number, { root, paths, bytes }: TrieNodesRequest): Uint8Array =>
  requestOf(id, [root, paths], bytes);

export function decodeTrieNodesRequest(data: Uint8Array): Received<TrieNodesRequest> {
  const fields = RlpCursor.ofMessage(data);
  const id = fields.uint();
  const root = fields.string(32).slice();
  let left = MAX_REQUESTED;
  const paths = fields.list().all((sets) => {
    const set = sets.list().all((items) => items.string().slice(), left);
    if (set.length === 0) RlpCursor.expectCount(0, 1);
    left -= set.length;
    return set;
  }, MAX_REQUESTED);
  return { id, root, paths, bytes: fields.number() };
}

const hash = (fields: RlpCursor): Uint8Array => fields.string(32).slice();
/** Geth leaves it out where it means the least or the greatest hash. */
const hashOrNothing = (fields: RlpCursor): Uint8Array => (fields.isHashNext ? fields.string(32) : fields.string(0)).slice();

const writer = new RlpWriter();

/** PERF: an answer has some thousand rows. The last one is written first. */
export function encodeAccountRange(id: bigint, { accounts, proof }: AccountRange): Uint8Array {
  writer.start();
  writer.raw(encodeRlp(proof));
  const end = writer.size;
  for (let index = accounts.length - 1; index >= 0; index--) {
    const { hash: key, body } = accounts[index]!;
    const rowEnd = writer.size;
    writer.raw(body);
    writer.string(key);
    writer.list(rowEnd);
  }
  writer.list(end);
  writer.uint(id);
  writer.list(0);
  return writer.take();
}

export function decodeAccountRange(data: Uint8Array): AccountRange {
  const fields = answerOf(data);
  const accounts = fields.list().all((items) => {
    const row = items.list();
    return { hash: row.string(32).slice(), body: row.encoded() };
  }, MAX_ITEMS);
  return { accounts, proof: proofOf(fields) };
}

export const encodeStorageRanges = (id: bigint, { slots, proof }: StorageRanges): Uint8Array =>
  encodeRlp([rlpUint(id), slots.map((rows) => rows.map(({ hash: key, body }) => [key, body])), proof]);

export function decodeStorageRanges(data: Uint8Array): StorageRanges {
  const fields = answerOf(data);
  let left = MAX_ITEMS;
  const slots = fields.list().all((lists) => {
    const rows = lists.list().all((items) => {
      const row = items.list();
      return { hash: row.string(32).slice(), body: row.string().slice() };
    }, left);
    left -= rows.length;
    return rows;
  }, MAX_REQUESTED);
  return { slots, proof: proofOf(fields) };
}

/** The answer to a request for codes or for nodes. */
export const encodeBlobs = (id: bigint, blobs: readonly Uint8Array[]): Uint8Array => encodeRlp([rlpUint(id), blobs]);

export const decodeBlobs = (data: Uint8Array): readonly Uint8Array[] =>
  answerOf(data)
    .list()
    .all((items) => items.string().slice(), MAX_REQUESTED);

/** The id of any message. */
export const idOf = (data: Uint8Array): bigint => RlpCursor.ofMessage(data).uint();

/** An answer's fields after its id. */
function answerOf(data: Uint8Array): RlpCursor {
  const fields = RlpCursor.ofMessage(data);
  fields.uint();
  return fields;
}

const proofOf = (fields: RlpCursor): readonly Uint8Array[] => fields.list().all((items) => items.string().slice(), MAX_PROOF_NODES);
