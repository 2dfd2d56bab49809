import type { BlobId } from "@rnode/derivation";
import type { Kzg } from "@rnode/kzg";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { L1Error } from "../l1-error.ts";
import { type BlobCandidate, readBlobs, readSidecars } from "./beacon-answers.ts";
import type { BeaconHttp, BeaconReply } from "./beacon-http.ts";
import type { BeaconMetrics } from "./beacon-metrics.ts";
import { hashOfCommitment, VerifiedBlob } from "./verified-blob.ts";

/** The two methods for blobs. `blob_sidecars` is deprecated, but before Fulu nodes had no other. */
export type BlobsApi = "blobs" | "blob_sidecars";
export type BlobsEra = "before-fulu" | "since-fulu";

/** Why an endpoint did not give all blobs. */
export interface Lack {
  /** missing: the endpoint reports them as missing; failed: no usable answer; faulty: a wrong answer */
  readonly kind: "missing" | "failed" | "faulty";
  readonly reason: string;
}

export interface EndpointBlobs {
  readonly found: ReadonlyMap<Hex, VerifiedBlob>;
  /** requests that this took */
  readonly requests: number;
  /** `undefined`: all are found */
  readonly lack: Lack | undefined;
}

export interface BeaconEndpointDeps {
  readonly http: Pick<BeaconHttp, "get" | "name">;
  readonly kzg: Kzg;
  readonly metrics: BeaconMetrics;
}

/** An endpoint that answers with one of these statuses will, for now, answer all requests like that. */
const HOPELESS_STATUSES = new Set([401, 403, 407, 429, 502, 503, 504]);
/** How many different blobs may claim one commitment. */
const CANDIDATES_A_HASH = 2;

/**
 * The blobs of one beacon node or archiver. Sidecars have a proof, which is checked much faster than a commitment is computed, so
 * they are requested first for blocks before Fulu; since Fulu, nodes need not have them. The method that works becomes the first
 * choice, so a block takes one request.
 */
export class BeaconEndpoint {
  readonly #deps: BeaconEndpointDeps;
  readonly #fetchesAll: boolean;
  readonly #works = new Map<BlobsEra, BlobsApi>();
  /** where the query that selects blobs loses some of them */
  readonly #selectsBadly = new Set<BlobsApi>();

  /** @param fetchesAll never select blobs by query */
  constructor(fetchesAll: boolean, deps: BeaconEndpointDeps) {
    this.#fetchesAll = fetchesAll;
    this.#deps = deps;
  }

  get name(): string {
    return this.#deps.http.name;
  }

  /** @throws {CodedError} kzg/*: the blobs could not be checked */
  async blobs(slot: number, era: BlobsEra, wanted: readonly BlobId[]): Promise<EndpointBlobs> {
    const search = new Search(wanted);
    for (const api of this.#order(era)) {
      const isOver = await this.#searchBy(api, slot, search);
      if (search.isComplete) this.#works.set(era, api);
      if (isOver) break;
    }
    return search.outcome();
  }

  #order(era: BlobsEra): readonly BlobsApi[] {
    const first = this.#works.get(era) ?? (era === "since-fulu" ? "blobs" : "blob_sidecars");
    return first === "blobs" ? ["blobs", "blob_sidecars"] : ["blob_sidecars", "blobs"];
  }

  /** @returns whether the other method cannot help */
  async #searchBy(api: BlobsApi, slot: number, search: Search): Promise<boolean> {
    const mayNotSelect = this.#fetchesAll || this.#selectsBadly.has(api);
    for (const isSelecting of mayNotSelect ? [false] : [true, false]) {
      search.requests++;
      try {
        const reply = await this.#ask(api, slot, isSelecting ? search.left : []);
        if (reply.kind === "refused") {
          const { status, message } = reply;
          search.lack(status === 404 ? "missing" : "failed", api, `${status}${message === "" ? "" : ` ${message}`}`);
          return HOPELESS_STATUSES.has(status);
        }
        await this.#take(api, reply.json, search);
      } catch (error) {
        if (!(error instanceof L1Error)) throw error;
        const isFaulty = error.code === "l1/faulty-answer";
        search.lack(isFaulty ? "faulty" : "failed", api, isFaulty ? error.message : String(error.data.reason));
        return !isFaulty;
      }
      if (search.isComplete) {
        if (!isSelecting && !mayNotSelect) this.#selectsBadly.add(api);
        return true;
      }
    }
    const { length } = search.left;
    search.lack("missing", api, `${length} of the ${search.wanted.length} blobs are not in its answer`);
    return false;
  }

  async #ask(api: BlobsApi, slot: number, selected: readonly BlobId[]): Promise<BeaconReply> {
    const { http, metrics } = this.#deps;
    const query =
      api === "blobs"
        ? [...new Set(selected.map(hashOf))].map((hash) => ["versioned_hashes", hash] as const)
        : selected.map(({ index }) => ["indices", String(index)] as const);
    const done = metrics.request(api, this.name);
    try {
      const reply = await http.get(`eth/v1/beacon/${api}/${slot}`, query);
      done(reply.kind === "ok" ? "ok" : reply.status === 404 ? "not-found" : "refused");
      return reply;
    } catch (error) {
      done("failed");
      throw error;
    }
  }

  async #take(api: BlobsApi, json: unknown, search: Search): Promise<void> {
    const blobs = api === "blobs" ? readBlobs(json) : [];
    const groups = api === "blobs" ? blobsToCheck(blobs, search.left) : sidecarsToCheck(readSidecars(json), search.left);
    const tried = new Set(groups.flat());
    let wrong = 0;
    await Promise.all(
      groups.map(async (candidates) => {
        for (const candidate of candidates) {
          const verified = await VerifiedBlob.check(this.#deps.kzg, candidate);
          if (verified !== undefined && search.add(verified)) return;
          wrong++;
        }
      }),
    );
    // a transaction of an unknown type can shift the indices: then it is any of the others
    for (const candidate of wrong > 0 ? blobs : []) {
      if (search.isComplete) return;
      const verified = tried.has(candidate) ? undefined : await VerifiedBlob.check(this.#deps.kzg, candidate);
      if (verified !== undefined) search.add(verified);
    }
    if (wrong > 0) search.lack("faulty", api, `${wrong} blobs of its answer do not have the hash that they should have`);
  }
}

/** The requested blobs, the found ones, and why the rest is missing. */
class Search {
  readonly wanted: readonly BlobId[];
  requests = 0;
  readonly #found = new Map<Hex, VerifiedBlob>();
  readonly #hashes: ReadonlySet<Hex>;
  readonly #lacks: (Lack & { readonly api: BlobsApi })[] = [];

  constructor(wanted: readonly BlobId[]) {
    this.wanted = wanted;
    this.#hashes = new Set(wanted.map(hashOf));
  }

  get left(): readonly BlobId[] {
    return this.wanted.filter((id) => !this.#found.has(hashOf(id)));
  }

  get isComplete(): boolean {
    return this.#found.size === this.#hashes.size;
  }

  /** @returns false if the blob was not requested */
  add(blob: VerifiedBlob): boolean {
    if (!this.#hashes.has(blob.versionedHash)) return false;
    this.#found.set(blob.versionedHash, blob);
    return true;
  }

  lack(kind: Lack["kind"], api: BlobsApi, reason: string): void {
    this.#lacks.push({ kind, api, reason });
  }

  /** A wrong answer takes precedence over a missing blob, and a missing blob over a failure. */
  outcome(): EndpointBlobs {
    const kinds = this.#lacks.map(({ kind }) => kind);
    const kind = (["faulty", "missing", "failed"] as const).find((each) => kinds.includes(each)) ?? "failed";
    const reason = this.#lacks.map(({ api, reason: why }) => `${api}: ${why}`).join("; ");
    return {
      found: this.#found,
      requests: this.requests,
      lack: this.isComplete && kind !== "faulty" ? undefined : { kind, reason },
    };
  }
}

const hashOf = ({ versionedHash }: BlobId): Hex => bytesToHex(versionedHash);

/**
 * Blobs have no hash, and its computation takes a commitment. If the endpoint returned no more blobs than requested, these are
 * the requested ones. Otherwise it returned all blobs of the block, and the requested positions select them.
 */
function blobsToCheck(blobs: readonly BlobCandidate[], wanted: readonly BlobId[]): readonly (readonly BlobCandidate[])[] {
  if (blobs.length <= wanted.length) return blobs.map((blob) => [blob]);
  return wanted.flatMap(({ index }) => (blobs[index] === undefined ? [] : [[blobs[index]]]));
}

/** By the hash of the commitment; several may claim the same. */
function sidecarsToCheck(sidecars: readonly BlobCandidate[], wanted: readonly BlobId[]): readonly (readonly BlobCandidate[])[] {
  const byHash = new Map<Hex, BlobCandidate[]>(wanted.map((id) => [hashOf(id), []]));
  for (const sidecar of sidecars) {
    const claiming = byHash.get(hashOfCommitment(sidecar.commitment!));
    if (claiming !== undefined && claiming.length < CANDIDATES_A_HASH) claiming.push(sidecar);
  }
  return [...byHash.values()];
}
