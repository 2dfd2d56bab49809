import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { bytesToHex, equalBytes, type Hex, hexToBytes } from "@rnode/primitives";
import { snapshotError } from "../errors.ts";

/** The index within a store; the snapshots are beside it. */
export const INDEX_NAME = "index.json";
/** Of the index; an entry has about 350 bytes. */
export const MAX_INDEX_BYTES = 1 << 20;
const FORMAT = 1;

/** One snapshot of a store. */
export interface IndexEntry {
  /** of the file beside the index */
  readonly name: string;
  readonly bytes: number;
  readonly sha256: Hex;
  readonly number: number;
  readonly hash: Hex;
  readonly stateRoot: Hex;
  /** ISO 8601 */
  readonly created: string;
}

export interface SnapshotIndex {
  readonly chainId: bigint;
  readonly genesisHash: Hex;
  /** the newest block first */
  readonly snapshots: readonly IndexEntry[];
}

/** An index, and the ed25519 key (32 bytes) whose signature it bears; `undefined`: it is not signed. */
export interface ReadIndex extends SnapshotIndex {
  readonly publicKey: Uint8Array | undefined;
}

/** `11155420-12345678-0123abcd.snap`: chain id, number and beginning of the hash */
export const snapshotName = (chainId: bigint, number: number, hash: Hex): string =>
  `${chainId}-${number}-${hash.slice(2, 10)}.snap`;

/** Whether a file of a store is a snapshot of the chain that this program put there. */
export const isSnapshotName = (name: string, chainId: bigint): boolean =>
  new RegExp(`^${chainId}-\\d+-[0-9a-f]{8}\\.snap$`).test(name);

/** The 32 bytes of an ed25519 key, which operators pass on. */
export const publicKeyOf = (key: KeyObject): Uint8Array =>
  new Uint8Array(Buffer.from(createPublicKey(key).export({ format: "jwk" }).x!, "base64url"));

/**
 * Layout: `{"signed": TEXT, "publicKey": 0x…, "signature": 0x…}`. TEXT is the index as JSON, and the ed25519 signature is over its bytes in UTF-8:
 * no reader has to write JSON again as the signer did.
 *
 * @param key `undefined`: without a signature
 */
export function encodeIndex({ chainId, genesisHash, snapshots }: SnapshotIndex, key: KeyObject | undefined): Uint8Array {
  const signed = JSON.stringify({ format: FORMAT, chainId: Number(chainId), genesisHash, snapshots });
  const seal = key && { publicKey: bytesToHex(publicKeyOf(key)), signature: bytesToHex(sign(null, Buffer.from(signed), key)) };
  return Buffer.from(`${JSON.stringify({ signed, ...seal }, undefined, 2)}\n`);
}

/**
 * @param place for errors
 * @param trusted the key that must have signed it; `undefined`: any, or none
 * @throws {CodedError} snapshot/bad-index
 */
export function decodeIndex(bytes: Uint8Array, place: string, trusted?: Uint8Array): ReadIndex {
  const fail = (reason: string): never => {
    throw snapshotError("snapshot/bad-index", { place, reason });
  };
  const outer = objectOf(Buffer.from(bytes).toString("utf8")) ?? fail("it is not JSON of this form");
  const { signed, publicKey, signature } = outer;
  if (typeof signed !== "string") return fail("it has no index");
  const key = bytesOf(publicKey, 32);
  const seal = bytesOf(signature, 64);
  if (trusted !== undefined && key === undefined) return fail("it is not signed");
  if (trusted !== undefined && !equalBytes(key!, trusted))
    return fail(`it is signed with the key ${bytesToHex(key!)}, expected ${bytesToHex(trusted)}`);
  if (key !== undefined && (seal === undefined || !isSignedBy(key, signed, seal)))
    return fail("its signature is not of its content");
  const { format, chainId, genesisHash, snapshots } = objectOf(signed) ?? fail("its content is not JSON of this form");
  if (format !== FORMAT) return fail(`it has format ${String(format)}, and this version reads format ${FORMAT}`);
  if (!isWhole(chainId) || bytesOf(genesisHash, 32) === undefined || !Array.isArray(snapshots) || !snapshots.every(isEntry))
    return fail("its content is not an index");
  return { chainId: BigInt(chainId), genesisHash: genesisHash as Hex, snapshots, publicKey: key };
}

function isSignedBy(key: Uint8Array, text: string, signature: Uint8Array): boolean {
  const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(key).toString("base64url") };
  return verify(null, Buffer.from(text), createPublicKey({ format: "jwk", key: jwk }), signature);
}

function isEntry(value: unknown): value is IndexEntry {
  const { name, bytes, sha256, number, hash, stateRoot, created } = (value ?? {}) as Partial<Record<keyof IndexEntry, unknown>>;
  // a name within the folder
  if (typeof name !== "string" || !/^\w[\w.-]{0,199}$/.test(name) || typeof created !== "string") return false;
  return isWhole(bytes) && isWhole(number) && [sha256, hash, stateRoot].every((each) => bytesOf(each, 32) !== undefined);
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const bytesOf = (value: unknown, length: number): Uint8Array | undefined =>
  typeof value === "string" && new RegExp(`^0x[0-9a-f]{${2 * length}}$`).test(value) ? hexToBytes(value) : undefined;
