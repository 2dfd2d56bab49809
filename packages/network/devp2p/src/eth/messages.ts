import { encodeRlp, encodeRlpListOfEncoded, type RlpItem, rlpUint } from "@rnode/primitives";
import type { ForkId } from "@rnode/protocol";
import type { HeaderRequest } from "../api.ts";
import { FIRST_ETH_MESSAGE } from "../rlpx/hello.ts";
import { RlpCursor } from "../rlpx/rlp-cursor.ts";

/** The versions of the protocol that are spoken here, the best first. Spec: https://github.com/ethereum/devp2p/blob/master/caps/eth.md */
export const ETH_VERSIONS = [69, 68] as const;
export type EthVersion = (typeof ETH_VERSIONS)[number];

/** How many codes each version has. */
export const ETH_MESSAGES: Readonly<Record<EthVersion, number>> = { 68: 17, 69: 18 };

/** Codes on the wire: `eth` is the first shared capability by name, so its messages come right after the base ones. */
export const ETH = {
  status: FIRST_ETH_MESSAGE,
  newBlockHashes: FIRST_ETH_MESSAGE + 0x01,
  transactions: FIRST_ETH_MESSAGE + 0x02,
  getBlockHeaders: FIRST_ETH_MESSAGE + 0x03,
  blockHeaders: FIRST_ETH_MESSAGE + 0x04,
  getBlockBodies: FIRST_ETH_MESSAGE + 0x05,
  blockBodies: FIRST_ETH_MESSAGE + 0x06,
  newBlock: FIRST_ETH_MESSAGE + 0x07,
  newPooledTransactionHashes: FIRST_ETH_MESSAGE + 0x08,
  getPooledTransactions: FIRST_ETH_MESSAGE + 0x09,
  pooledTransactions: FIRST_ETH_MESSAGE + 0x0a,
  getReceipts: FIRST_ETH_MESSAGE + 0x0f,
  receipts: FIRST_ETH_MESSAGE + 0x10,
  blockRangeUpdate: FIRST_ETH_MESSAGE + 0x11,
} as const;

export interface BlockRange {
  readonly earliest: number;
  readonly latest: number;
  readonly latestHash: Uint8Array;
}

export interface EthStatus {
  readonly version: number;
  readonly networkId: bigint;
  readonly genesisHash: Uint8Array;
  readonly forkId: ForkId;
  readonly latestHash: Uint8Array;
  /** undefined in eth/68 */
  readonly range?: BlockRange | undefined;
  /** until eth/68 */
  readonly totalDifficulty?: bigint | undefined;
}

export function encodeStatus(status: EthStatus): Uint8Array {
  const { version, networkId, genesisHash, forkId, latestHash, range, totalDifficulty = 0n } = status;
  const fork: RlpItem = [forkId.hash, rlpUint(forkId.next)];
  return version >= 69 && range !== undefined
    ? encodeRlp([rlpUint(version), rlpUint(networkId), genesisHash, fork, ...rangeItems(range)])
    : encodeRlp([rlpUint(version), rlpUint(networkId), rlpUint(totalDifficulty), latestHash, genesisHash, fork]);
}

/** @throws {CodedError} rlp/* */
export function decodeStatus(data: Uint8Array, version: EthVersion): EthStatus {
  const fields = RlpCursor.ofMessage(data);
  const told = fields.number();
  const networkId = fields.uint();
  const readForkId = (): ForkId => {
    const fork = fields.list();
    return { hash: fork.string(4).slice(), next: fork.number() };
  };
  if (version === 68) {
    fields.string(); // total difficulty, up to 256 bits
    const latestHash = fields.string(32).slice();
    return { version: told, networkId, latestHash, genesisHash: fields.string(32).slice(), forkId: readForkId() };
  }
  const genesisHash = fields.string(32).slice();
  const forkId = readForkId();
  const range = readRange(fields);
  return { version: told, networkId, genesisHash, forkId, latestHash: range.latestHash, range };
}

const rangeItems = ({ earliest, latest, latestHash }: BlockRange): RlpItem[] => [rlpUint(earliest), rlpUint(latest), latestHash];
export const encodeRange = (range: BlockRange): Uint8Array => encodeRlp(rangeItems(range));
export const decodeRange = (data: Uint8Array): BlockRange => readRange(RlpCursor.ofMessage(data));
const readRange = (fields: RlpCursor): BlockRange => ({
  earliest: fields.number(),
  latest: fields.number(),
  latestHash: fields.string(32).slice(),
});

export const encodeHeaderRequest = (id: number, { start, limit, skip = 0, reverse = false }: HeaderRequest): Uint8Array =>
  encodeRlp([
    rlpUint(id),
    [typeof start === "number" ? rlpUint(start) : start, rlpUint(limit), rlpUint(skip), rlpUint(reverse ? 1 : 0)],
  ]);

/** @throws {CodedError} rlp/* */
export function decodeHeaderRequest(data: Uint8Array): { readonly id: bigint; readonly request: Required<HeaderRequest> } {
  const fields = RlpCursor.ofMessage(data);
  const id = fields.uint();
  const query = fields.list();
  const start = query.isHashNext ? query.string(32).slice() : query.number();
  return { id, request: { start, limit: query.number(), skip: query.number(), reverse: query.uint() !== 0n } };
}

export const encodeHashRequest = (id: number, hashes: readonly Uint8Array[]): Uint8Array => encodeRlp([rlpUint(id), hashes]);

/** @throws {CodedError} rlp/*, also for more than `max` hashes */
export function decodeHashRequest(data: Uint8Array, max: number): { readonly id: bigint; readonly hashes: readonly Uint8Array[] } {
  const fields = RlpCursor.ofMessage(data);
  return { id: fields.uint(), hashes: fields.list().all((hashes) => hashes.string(32), max) };
}

/** @param items RLP of each */
export const encodeAnswer = (id: bigint, items: readonly Uint8Array[]): Uint8Array =>
  encodeRlpListOfEncoded([encodeRlp(rlpUint(id)), encodeRlpListOfEncoded(items)]);

/** @returns the RLP of each item, as copies. @throws {CodedError} rlp/*, also for more than `max` items */
export function decodeAnswer(
  data: Uint8Array,
  max: (id: bigint) => number,
): { readonly id: bigint; readonly items: readonly Uint8Array[] } {
  const fields = RlpCursor.ofMessage(data);
  const id = fields.uint();
  const most = max(id);
  return { id, items: most < 0 ? [] : fields.list().all((items) => items.encoded(), most) };
}

/** A transaction that a peer has. */
export interface Announcement {
  readonly type: number;
  /** as its EIP-2718 encoding has */
  readonly size: number;
  readonly hash: Uint8Array;
}

export const encodeAnnouncements = (announcements: readonly Announcement[]): Uint8Array =>
  encodeRlp([
    Uint8Array.from(announcements, ({ type }) => type),
    announcements.map(({ size }) => rlpUint(size)),
    announcements.map(({ hash }) => hash),
  ]);

/** @throws {CodedError} rlp/*, also for more than `max` */
export function decodeAnnouncements(data: Uint8Array, max: number): readonly Announcement[] {
  const fields = RlpCursor.ofMessage(data);
  const types = fields.string();
  const sizes = fields.list().all((items) => items.number(), max);
  const hashes = fields.list().all((items) => items.string(32).slice(), max);
  RlpCursor.expectCount(types.length, hashes.length);
  RlpCursor.expectCount(sizes.length, hashes.length);
  return hashes.map((hash, index) => ({ hash, type: types[index]!, size: sizes[index]! }));
}

/** A transaction as an item of a list: typed ones are strings. @param encoded EIP-2718 */
export const transactionItem = (encoded: Uint8Array): Uint8Array => (encoded[0]! >= 0xc0 ? encoded : encodeRlp(encoded));

const readTransaction = (items: RlpCursor): Uint8Array => (items.isListNext ? items.encoded() : items.string().slice());

export const encodeTransactions = (transactions: readonly Uint8Array[]): Uint8Array =>
  encodeRlpListOfEncoded(transactions.map(transactionItem));

/** @returns the EIP-2718 encodings, as copies. @throws {CodedError} rlp/*, also for more than `max` */
export const decodeTransactions = (data: Uint8Array, max: number): readonly Uint8Array[] =>
  RlpCursor.ofMessage(data).all(readTransaction, max);

/** @throws {CodedError} rlp/* */
export function decodePooledTransactions(
  data: Uint8Array,
  max: (id: bigint) => number,
): { readonly id: bigint; readonly items: readonly Uint8Array[] } {
  const fields = RlpCursor.ofMessage(data);
  const id = fields.uint();
  const most = max(id);
  return { id, items: most < 0 ? [] : fields.list().all(readTransaction, most) };
}
