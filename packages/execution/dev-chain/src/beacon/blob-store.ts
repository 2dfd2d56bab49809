import { bytesToHex, concatBytes, type Hex, hexToBytes } from "@rnode/primitives";
import type { BlobSidecar } from "@rnode/protocol";
import { open, type RootDatabase } from "lmdb";

const BLOB_BYTES = 131_072;
const POINT_BYTES = 48;
const CELL_PROOFS = 128;

/** A blob with what proves it: one proof, or one for each of 128 cells. */
export interface StoredBlob {
  readonly blob: Uint8Array;
  readonly commitment: Uint8Array;
  readonly proofs: readonly Uint8Array[];
}

/**
 * The blobs of the chain's blocks and their requests, which are in no block, on disk. Commitments and requests stay for good, because
 * roots of beacon blocks are computed from them; blobs are removed when they are old.
 */
export class BlobStore {
  readonly #root: RootDatabase;
  readonly #blobs;
  readonly #commitments;
  readonly #requests;
  readonly #lost;
  /** the last block that has a blob */
  readonly #lastBlocks;
  readonly #marks;

  /** @param isDurable whether written data must survive a power cut */
  constructor(folder: string, isDurable: boolean) {
    this.#root = open({ path: folder, noSync: !isDurable, maxDbs: 8, encoding: "binary" });
    const table = (name: string) => this.#root.openDB<Buffer, string>({ name, encoding: "binary" });
    this.#blobs = table("blobs");
    this.#commitments = table("commitments");
    this.#requests = table("requests");
    this.#lost = table("lost");
    this.#lastBlocks = table("last-blocks");
    this.#marks = table("marks");
  }

  /** Stores the blobs of block `number` before the block is made. */
  put(number: number, versionedHashes: readonly Uint8Array[], { blobs, commitments, proofs }: BlobSidecar): void {
    const each = proofs.length / blobs.length;
    this.#root.transactionSync(() => {
      for (const [index, hash] of versionedHashes.entries()) {
        const key = bytesToHex(hash);
        void this.#lastBlocks.put(key, Buffer.from(String(number)));
        if (this.#blobs.doesExist(key)) continue;
        void this.#commitments.put(key, Buffer.from(commitments[index]!));
        void this.#blobs.put(key, Buffer.from(concatBytes(blobs[index]!, ...proofs.slice(index * each, (index + 1) * each))));
      }
    });
  }

  commitmentOf(versionedHash: Uint8Array): Uint8Array | undefined {
    return this.#commitments.get(bytesToHex(versionedHash));
  }

  /** undefined: unknown, removed because of its age, or hidden by `setLost` */
  read(versionedHash: Uint8Array): StoredBlob | undefined {
    return this.#lost.doesExist(bytesToHex(versionedHash)) ? undefined : this.readEvenIfLost(versionedHash);
  }

  /** Ignores `setLost`; for the chain itself. */
  readEvenIfLost(versionedHash: Uint8Array): StoredBlob | undefined {
    const key = bytesToHex(versionedHash);
    const [stored, commitment] = [this.#blobs.get(key), this.#commitments.get(key)];
    if (stored === undefined || commitment === undefined) return undefined;
    const proofs: Uint8Array[] = [];
    for (let at = BLOB_BYTES; at < stored.length; at += POINT_BYTES) proofs.push(stored.subarray(at, at + POINT_BYTES));
    return { blob: stored.subarray(0, BLOB_BYTES), commitment, proofs };
  }

  /** The sidecar of a transaction that has left the chain, for the pool; undefined: a blob is missing. */
  sidecarOf(versionedHashes: readonly Uint8Array[]): BlobSidecar | undefined {
    const blobs = versionedHashes.flatMap((hash) => this.readEvenIfLost(hash) ?? []);
    const version = blobs[0]?.proofs.length === CELL_PROOFS ? 1 : 0;
    const isWhole =
      blobs.length === versionedHashes.length && blobs.every(({ proofs }) => proofs.length === blobs[0]!.proofs.length);
    if (!isWhole) return undefined;
    return {
      version,
      blobs: blobs.map(({ blob }) => blob),
      commitments: blobs.map(({ commitment }) => commitment),
      proofs: blobs.flatMap(({ proofs }) => proofs),
    };
  }

  /** Hides the blobs from readers; `false` shows them again. */
  setLost(versionedHashes: readonly Uint8Array[], isLost: boolean): void {
    this.#root.transactionSync(() => {
      for (const hash of versionedHashes) {
        const key = bytesToHex(hash);
        if (isLost) void this.#lost.put(key, Buffer.of(1));
        else void this.#lost.remove(key);
      }
    });
  }

  /** The versioned hashes of the blobs hidden by `setLost`. */
  lost(): Uint8Array[] {
    return [...this.#lost.getKeys()].map((hash) => hexToBytes(hash as Hex));
  }

  /** Removes the blobs of block `number`, and notes it; those that a later block has as well stay. */
  removeOf(number: number, versionedHashes: readonly Uint8Array[]): void {
    this.#root.transactionSync(() => {
      for (const hash of versionedHashes) {
        const key = bytesToHex(hash);
        if (Number(this.#lastBlocks.get(key)?.toString() ?? 0) <= number) void this.#blobs.remove(key);
      }
      void this.#marks.put("removed", Buffer.from(String(number)));
    });
  }

  /** Keeps the requests of a block, unless there are none. */
  putRequests(blockHash: Uint8Array, requests: readonly Uint8Array[]): void {
    if (requests.length === 0) return;
    this.#requests.putSync(bytesToHex(blockHash), Buffer.from(JSON.stringify(requests.map(bytesToHex))));
  }

  requestsOf(blockHash: Uint8Array): Uint8Array[] {
    const stored = this.#requests.get(bytesToHex(blockHash));
    if (stored === undefined) return [];
    return (JSON.parse(stored.toString()) as Hex[]).map((request) => Buffer.from(request.slice(2), "hex"));
  }

  /** The number of the block up to which blobs were removed because they are old. */
  get removedUpTo(): number {
    const mark = this.#marks.get("removed");
    return mark === undefined ? 0 : Number(mark.toString());
  }

  close(): Promise<void> {
    return this.#root.close();
  }
}
