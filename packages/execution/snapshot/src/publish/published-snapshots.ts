import { resumableBody } from "@rnode/download";
import { bytesToHex } from "@rnode/primitives";
import { snapshotError } from "../errors.ts";
import { decodeIndex, INDEX_NAME, type IndexEntry, MAX_INDEX_BYTES, type ReadIndex } from "./snapshot-index.ts";
import { isS3, s3PlaceOf } from "./store-place.ts";

/** Whom a reader trusts, and which chain the snapshots must be of. */
export interface IndexExpectation {
  readonly chainId: bigint;
  /** `undefined`: not known */
  readonly genesisHash: Uint8Array | undefined;
  /** ed25519; `undefined`: the index proves nothing */
  readonly publicKey: Uint8Array | undefined;
}

/** The snapshots of a store, for a node that starts from one. */
export class PublishedSnapshots {
  readonly #urlOf: (name: string) => Promise<string>;
  readonly snapshots: readonly IndexEntry[];

  private constructor(urlOf: (name: string) => Promise<string>, { snapshots }: ReadIndex) {
    this.#urlOf = urlOf;
    this.snapshots = snapshots;
  }

  /**
   * @param place URL of the store's folder or of its index, or `s3://bucket/prefix`
   * @throws {CodedError} snapshot/bad-index, snapshot/bad-store, download/*
   */
  static async read(
    place: string,
    expected: IndexExpectation,
    { env, signal }: { readonly env: Readonly<Record<string, string | undefined>>; readonly signal?: AbortSignal | undefined },
  ): Promise<PublishedSnapshots> {
    const urlOf = addressesBelow(place, env);
    const pieces: Uint8Array[] = [];
    for await (const piece of resumableBody(await urlOf(INDEX_NAME), { maxBytes: MAX_INDEX_BYTES, signal })) pieces.push(piece);
    const index = decodeIndex(Buffer.concat(pieces), place, expected.publicKey);
    const fail = (what: string, own: unknown, wanted: unknown): never => {
      throw snapshotError("snapshot/other-chain", { what, file: String(own), expected: String(wanted) });
    };
    if (index.chainId !== expected.chainId) fail("chain id", index.chainId, expected.chainId);
    const genesisHash = expected.genesisHash && bytesToHex(expected.genesisHash);
    if (genesisHash !== undefined && index.genesisHash !== genesisHash) fail("genesis block", index.genesisHash, genesisHash);
    return new PublishedSnapshots(urlOf, index);
  }

  /** From where a snapshot is downloaded. */
  urlOf({ name }: IndexEntry): Promise<string> {
    return this.#urlOf(name);
  }
}

/** The addresses of a store's files. Those of a bucket are signed, and good for a week. */
function addressesBelow(place: string, env: Readonly<Record<string, string | undefined>>): (name: string) => Promise<string> {
  if (!isS3(place)) {
    const index = new URL(place);
    if (!index.pathname.endsWith(".json") && !index.pathname.endsWith("/")) index.pathname += "/";
    return async (name) => (name === INDEX_NAME && index.pathname.endsWith(".json") ? index.href : new URL(name, index).href);
  }
  const s3 = s3PlaceOf(place, env);
  return async (name) => (await import("./s3-store.ts")).presignedUrl(s3, name);
}
