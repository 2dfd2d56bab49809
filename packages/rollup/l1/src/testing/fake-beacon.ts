import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestBlob, testBlobProof } from "@rnode/kzg/testing";
import { bytesToHex } from "@rnode/primitives";

export interface FakeBeaconOptions {
  readonly genesisTimeSec?: number;
  readonly slotSec?: number;
  readonly fuluEpoch?: number;
  readonly l1ChainId?: number;
  /** whether it has `/eth/v2/node/version`, as since Gloas */
  readonly hasVersionV2?: boolean;
  /** served methods; default: both */
  readonly apis?: readonly ("blobs" | "blob_sidecars")[];
}

export interface BeaconAnswer {
  readonly status: number;
  readonly json: unknown;
}

const MESSAGES: Readonly<Record<number, string>> = { 404: "NOT_FOUND: block not found", 410: "Gone" };

/** A beacon node with real blobs over real HTTP, with configurable wrong answers. */
export class FakeBeacon {
  /** the requests so far: path and query */
  readonly asked: string[] = [];
  readonly headers: (string | undefined)[] = [];
  /** replaces the honest answer; `undefined`: the honest one. "hang": no answer; "drop": the connection ends */
  instead: (path: string, honest: BeaconAnswer) => BeaconAnswer | { readonly text: string } | "hang" | "drop" | undefined = () =>
    undefined;
  /** whether queries select blobs */
  selects = true;
  readonly #options: FakeBeaconOptions;
  readonly #blobs = new Map<number, readonly TestBlob[]>();
  #server: Server | undefined;

  /** Provides `answerTo`; `start` also listens. */
  constructor(options: FakeBeaconOptions = {}) {
    this.#options = options;
  }

  async #listen(): Promise<void> {
    this.#server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, "http://beacon");
      this.asked.push(decodeURIComponent(request.url!));
      this.headers.push(request.headers["x-key"] as string | undefined);
      const told = this.answerTo(pathname, searchParams);
      if (told === "hang") return;
      if (told === "drop") {
        request.destroy();
        return;
      }
      response.writeHead("text" in told ? 200 : told.status, { "content-type": "application/json" });
      response.end("text" in told ? told.text : (JSON.stringify(told.json) ?? ""));
    });
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  static async start(options: FakeBeaconOptions = {}): Promise<FakeBeacon> {
    const beacon = new FakeBeacon(options);
    await beacon.#listen();
    return beacon;
  }

  answerTo(path: string, query: URLSearchParams): BeaconAnswer | { readonly text: string } | "hang" | "drop" {
    const honest = this.#answer(path, query);
    return this.instead(path, honest) ?? honest;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server!.address() as AddressInfo).port}`;
  }

  /** All blobs of the block at a slot. */
  add(slot: number, blobs: readonly TestBlob[]): void {
    this.#blobs.set(slot, blobs);
  }

  forget(slot: number): void {
    this.#blobs.delete(slot);
  }

  /** The requests for blobs so far, and forgets them. */
  takeAsked(): string[] {
    return this.asked.splice(0).filter((path) => path.includes("/blob"));
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    this.#server?.close();
    if (this.#server !== undefined) await once(this.#server, "close");
  }

  #answer(path: string, query: URLSearchParams): BeaconAnswer {
    const {
      genesisTimeSec = 0,
      slotSec = 12,
      fuluEpoch,
      l1ChainId = 900,
      hasVersionV2,
      apis = ["blobs", "blob_sidecars"],
    } = this.#options;
    const ok = (data: unknown): BeaconAnswer => ({ status: 200, json: { execution_optimistic: false, finalized: true, data } });
    const refused = (status: number): BeaconAnswer => ({ status, json: { code: status, message: MESSAGES[status] } });
    if (path === "/eth/v2/node/version" && hasVersionV2) {
      return ok({ beacon_node: { code: "FK", name: "Fake", version: "v2.0.0", commit: "00000000" } });
    }
    if (path === "/eth/v1/node/version") return ok({ version: "Fake/v1.0.0" });
    if (path === "/eth/v1/beacon/genesis") return ok({ genesis_time: String(genesisTimeSec) });
    if (path === "/eth/v1/config/spec") {
      return ok({
        SECONDS_PER_SLOT: String(slotSec),
        SLOTS_PER_EPOCH: "32",
        FULU_FORK_EPOCH: String(fuluEpoch ?? "18446744073709551615"),
        DEPOSIT_CHAIN_ID: String(l1ChainId),
      });
    }
    const [, api, slot] = /^\/eth\/v1\/beacon\/(blobs|blob_sidecars)\/(\d+)$/.exec(path) ?? [];
    if (api === undefined || !apis.includes(api as "blobs")) return refused(api === undefined ? 404 : 410);
    const blobs = this.#blobs.get(Number(slot));
    if (blobs === undefined) return refused(404);
    if (api === "blobs") {
      const hashes = this.selects ? query.getAll("versioned_hashes") : [];
      const wanted = blobs.filter(({ versionedHash }) => hashes.length === 0 || hashes.includes(bytesToHex(versionedHash)));
      return ok(wanted.map(({ blob }) => bytesToHex(blob)));
    }
    const indices = this.selects ? query.getAll("indices") : [];
    const sidecars = blobs.map((blob, index) => ({
      index: String(index),
      blob: bytesToHex(blob.blob),
      kzg_commitment: bytesToHex(blob.commitment),
      kzg_proof: proofOf(blob),
      kzg_commitment_inclusion_proof: [],
    }));
    return ok(sidecars.filter(({ index }) => indices.length === 0 || indices.includes(index)));
  }
}

const proofs = new WeakMap<TestBlob, string>();

function proofOf(blob: TestBlob): string {
  const known = proofs.get(blob) ?? bytesToHex(testBlobProof(blob));
  proofs.set(blob, known);
  return known;
}
