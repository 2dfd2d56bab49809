import type { BlobId, BlobProvider } from "@rnode/derivation";
import type { Kzg } from "@rnode/kzg";
import { bytesToHex, type Clock, type Hex, isCodedError, LruCache } from "@rnode/primitives";
import { BLOB_BYTES, type L1BlockRef } from "@rnode/protocol";
import type { L1Log } from "../endpoints/endpoints.ts";
import { L1Error } from "../l1-error.ts";
import type { BlobReadAhead } from "../read-ahead.ts";
import { type BeaconSpec, readGenesisTime, readSpec, readVersion } from "./beacon-answers.ts";
import { BeaconEndpoint } from "./beacon-endpoint.ts";
import { BeaconHttp, type BeaconHttpOptions } from "./beacon-http.ts";
import type { BeaconMetrics } from "./beacon-metrics.ts";
import { adviceOn, type EndpointLack } from "./missing-blobs.ts";
import { Slots } from "./slots.ts";
import type { VerifiedBlob } from "./verified-blob.ts";

export interface BeaconClientOptions {
  /** the main endpoint, which also provides the slot times; then more sources of blobs: other nodes, archivers */
  readonly urls: readonly [string, ...string[]];
  /** sent to all endpoints */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** never select blobs by query */
  readonly fetchesAll: boolean;
  /** replaces the node's own value, whose configuration is then not requested */
  readonly slotSec?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxAnswerBytes?: number | undefined;
  /** limit of the verified blobs in memory */
  readonly cacheBytes?: number | undefined;
}

export interface BeaconClientDeps {
  readonly kzg: Kzg;
  readonly clock: Clock;
  readonly log: L1Log;
  readonly metrics: BeaconMetrics;
  /** default: HTTP requests to the URL */
  readonly connect?: ((options: BeaconHttpOptions) => BeaconConnection) | undefined;
}

/** GET requests to one endpoint. */
export type BeaconConnection = Pick<BeaconHttp, "name" | "get" | "close">;

const DEFAULT_TIMEOUT_MS = 30_000;
/** for requests of version, configuration and genesis */
const FACT_TIMEOUT_MS = 10_000;
/** 120 sidecars, several times the maximum of a block */
const DEFAULT_MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;

/** The second is deprecated since Gloas. */
const VERSION_PATHS = ["eth/v2/node/version", "eth/v1/node/version"] as const;

type Found = ReadonlyMap<Hex, VerifiedBlob>;

/** The blobs of one round over the endpoints, and why others are missing. */
interface Round {
  readonly found: Found;
  readonly slots: Slots;
  readonly slot: number;
  readonly lacks: readonly EndpointLack[];
}

/**
 * Verified blobs from beacon nodes and archivers. Endpoints are requested in turn, beginning with the last successful one, until
 * all blobs are found; each gets requests only for missing blobs. A missing blob is never cached.
 *
 * Spec: docs/protocol/05-services.md#beacon-api
 */
export class BeaconClient implements BlobProvider, BlobReadAhead {
  readonly #options: BeaconClientOptions;
  readonly #deps: BeaconClientDeps;
  readonly #https: readonly BeaconConnection[];
  readonly #endpoints: readonly BeaconEndpoint[];
  readonly #cache: LruCache<Hex, VerifiedBlob>;
  readonly #underWay = new Map<Hex, Promise<Found>>();
  #current = 0;
  #slots: Promise<Slots> | undefined;
  /** the value before `#slots`, used when no endpoint gives a new one */
  #formerSlots: Slots | undefined;

  constructor(options: BeaconClientOptions, deps: BeaconClientDeps) {
    this.#options = options;
    this.#deps = deps;
    const { headers, fetchesAll, timeoutMs = DEFAULT_TIMEOUT_MS, maxAnswerBytes: maxBytes = DEFAULT_MAX_ANSWER_BYTES } = options;
    const connect = deps.connect ?? ((given: BeaconHttpOptions) => new BeaconHttp(given));
    this.#https = options.urls.map((url) => connect({ url, headers, timeoutMs, maxBytes }));
    this.#endpoints = this.#https.map((http) => new BeaconEndpoint(fetchesAll, { http, kzg: deps.kzg, metrics: deps.metrics }));
    this.#cache = new LruCache(Math.max(1, Math.floor((options.cacheBytes ?? DEFAULT_CACHE_BYTES) / BLOB_BYTES)));
  }

  /** how logs and errors refer to the endpoints */
  get names(): readonly string[] {
    return this.#https.map(({ name }) => name);
  }

  /**
   * The version of the main endpoint. Public endpoints need not serve it, so no answer is not a failure.
   *
   * @returns `undefined` without an answer
   */
  async version(): Promise<string | undefined> {
    const main = this.#https.slice(0, 1);
    for (const path of VERSION_PATHS) {
      try {
        return await this.#askFact("version", path, readVersion, main);
      } catch (error) {
        if (!(error instanceof L1Error)) throw error;
      }
    }
    return undefined;
  }

  /**
   * The chain id of the main endpoint's L1; `undefined` if it is not reported. @throws {L1Error} l1/unavailable, l1/faulty-answer
   */
  async l1ChainId(): Promise<bigint | undefined> {
    if (this.#options.slotSec !== undefined) {
      // the configuration is not needed, but this checks whether the endpoint answers
      await this.#askFact("genesis", "eth/v1/beacon/genesis", readGenesisTime, this.#https.slice(0, 1));
      return undefined;
    }
    return (await this.#spec(this.#https.slice(0, 1))).l1ChainId;
  }

  /**
   * @returns `undefined` if no endpoint has all of them, and one reports some as missing
   * @throws {L1Error} l1/unavailable: retry later
   */
  async blobs(block: L1BlockRef, ids: readonly BlobId[]): Promise<readonly Uint8Array[] | undefined> {
    const { metrics } = this.#deps;
    const found = new Map(await this.#underWay.get(block.hash)?.catch(noneOnFailure));
    const take = (more: Found): void => {
      for (const [hash, blob] of more) found.set(hash, blob);
    };
    take(this.#known(ids));
    const left = ids.filter((id) => !found.has(hashOf(id)));
    metrics.blobs("cache", ids.length - left.length);
    if (left.length > 0) {
      const round = await this.#round(block, left);
      take(round.found);
      metrics.blobs("endpoint", left.filter((id) => found.has(hashOf(id))).length);
      const missing = left.filter((id) => !found.has(hashOf(id)));
      if (missing.length > 0) return this.#missing(block, round, missing);
    }
    return ids.map((id) => found.get(hashOf(id))!.data);
  }

  /** Starts to fetch blobs for a later request, which reports failures. */
  readAhead(block: L1BlockRef, ids: readonly BlobId[]): void {
    const left = ids.filter((id) => !this.#cache.has(hashOf(id)));
    if (left.length === 0 || this.#underWay.has(block.hash)) return;
    const asked = this.#round(block, left)
      .then(({ found }) => found)
      .finally(() => this.#underWay.delete(block.hash));
    this.#underWay.set(block.hash, asked);
    asked.catch(noneOnFailure);
  }

  /** Ends requests in progress. */
  async close(): Promise<void> {
    await Promise.all(this.#https.map((http) => http.close()));
  }

  #known(ids: readonly BlobId[]): Found {
    return new Map(
      ids.flatMap((id) => {
        const hash = hashOf(id);
        const blob = this.#cache.get(hash);
        return blob === undefined ? [] : [[hash, blob] as const];
      }),
    );
  }

  async #round(block: L1BlockRef, ids: readonly BlobId[]): Promise<Round> {
    const slots = await this.#calendar();
    const slot = this.#slotOf(slots, block);
    const found = new Map<Hex, VerifiedBlob>();
    const lacks: EndpointLack[] = [];
    const first = this.#current;
    let requests = 0;
    for (let turn = 0; turn < this.#endpoints.length; turn++) {
      const index = (first + turn) % this.#endpoints.length;
      const endpoint = this.#endpoints[index]!;
      const answer = await endpoint.blobs(
        slot,
        slots.eraOf(slot),
        ids.filter((id) => !found.has(hashOf(id))),
      );
      requests += answer.requests;
      for (const [hash, blob] of answer.found) {
        found.set(hash, blob);
        this.#cache.set(hash, blob);
      }
      if (answer.lack !== undefined) {
        lacks.push({ endpoint: endpoint.name, ...answer.lack });
        this.#noteLack(block, slot, lacks.at(-1)!);
      }
      if (ids.every((id) => found.has(hashOf(id)))) {
        this.#current = index;
        break;
      }
    }
    this.#deps.metrics.roundDone(requests);
    return { found, slots, slot, lacks };
  }

  #noteLack(block: L1BlockRef, slot: number, { endpoint, kind, reason }: EndpointLack): void {
    const { log, metrics } = this.#deps;
    const fields = { endpoint, l1Block: block.number, slot, reason };
    if (kind === "faulty") {
      metrics.faultyAnswer(endpoint);
      log.warn("beacon endpoint gave a faulty answer", fields);
    } else {
      log.debug("beacon endpoint did not give all blobs", fields);
    }
  }

  /** A message with the missing blobs, the endpoints and the remedy. */
  #missing(block: L1BlockRef, { slots, slot, lacks }: Round, missing: readonly BlobId[]): undefined {
    this.#slots = undefined; // if the slot times are wrong, the slot was wrong as well
    const { log, metrics, clock } = this.#deps;
    const isGone = lacks.some(({ kind }) => kind === "missing");
    metrics.roundFailed(isGone ? "missing" : "failed");
    const ageSec = clock.unixMs() / 1_000 - block.timestamp;
    const facts = {
      l1Block: block.number,
      slot,
      missing: missing.length,
      versionedHash: hashOf(missing[0]!),
      endpoints: lacks.map(({ endpoint, reason }) => `${endpoint} (${reason})`).join(", "),
      help: adviceOn(lacks, ageSec, slots.retentionSec),
    };
    log.warn("blobs of the batcher cannot be read", facts);
    if (isGone) return undefined;
    throw new L1Error("l1/unavailable", { what: "blobs", ...facts });
  }

  #slotOf(slots: Slots, block: L1BlockRef): number {
    try {
      return slots.slotOf(block);
    } catch (error) {
      this.#slots = undefined; // it may have been a wrong answer
      this.#formerSlots = undefined;
      throw error;
    }
  }

  #calendar(): Promise<Slots> {
    this.#slots ??= this.#askCalendar().then(
      (slots) => {
        this.#formerSlots = slots;
        return slots;
      },
      (error: unknown) => {
        this.#slots = undefined;
        if (this.#formerSlots !== undefined && isCodedError(error, "l1/")) return this.#formerSlots;
        throw error;
      },
    );
    return this.#slots;
  }

  async #askCalendar(): Promise<Slots> {
    const genesisTimeSec = await this.#askFact("genesis", "eth/v1/beacon/genesis", readGenesisTime, this.#https);
    return new Slots(genesisTimeSec, await this.#spec(this.#https));
  }

  async #spec(from: readonly BeaconConnection[]): Promise<BeaconSpec> {
    const { slotSec } = this.#options;
    if (slotSec !== undefined) return readSpec({ data: { SECONDS_PER_SLOT: String(slotSec) } });
    return this.#askFact("spec", "eth/v1/config/spec", readSpec, from);
  }

  /** The first successful answer. @throws {L1Error} l1/unavailable, l1/faulty-answer: the first endpoint's error */
  async #askFact<T>(
    request: "version" | "spec" | "genesis",
    path: string,
    read: (json: unknown) => T,
    from: readonly BeaconConnection[],
  ): Promise<T> {
    let failure: L1Error | undefined;
    for (const http of from) {
      const done = this.#deps.metrics.request(request, http.name);
      try {
        const reply = await http.get(path, [], FACT_TIMEOUT_MS).catch((error: unknown) => {
          done("failed");
          throw error;
        });
        done(reply.kind);
        if (reply.kind === "ok") return read(reply.json);
        const reason = `status ${reply.status} ${reply.message}`.trimEnd();
        failure ??= new L1Error("l1/unavailable", { endpoint: http.name, what: path, reason });
      } catch (error) {
        if (!(error instanceof L1Error)) throw error;
        failure ??= error;
      }
    }
    throw failure ?? new L1Error("l1/unavailable", { what: path, reason: "no endpoints" });
  }
}

const hashOf = ({ versionedHash }: BlobId): Hex => bytesToHex(versionedHash);

/** The later request for the blobs reports the failure. */
function noneOnFailure(error: unknown): Found {
  if (!isCodedError(error)) throw error;
  return new Map();
}
