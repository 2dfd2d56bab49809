import { createKzg, type Kzg } from "@rnode/kzg";
import { testBlob } from "@rnode/kzg/testing";
import { BeaconClient, type BeaconReply, createBeaconMetrics, L1Error } from "@rnode/l1";
import { FakeBeacon } from "@rnode/l1/testing/beacon";
import { type Logger, noMetrics } from "@rnode/observe";
import type { SimClock, SimProcess } from "@rnode/program/testing";
import type { ServerState } from "./link.ts";
import { type BlobLie, GENESIS_TIME_SEC } from "./plan.ts";
import type { Random } from "./random.ts";
import type { SimL1 } from "./sim-l1.ts";

/** State of a beacon node and an archiver for one rollup node. */
export interface BeaconState extends ServerState {
  blobLie: BlobLie | undefined;
}

export interface SimBeaconOptions {
  /** blobs come without proofs */
  readonly isFulu: boolean;
  readonly l1ChainId: bigint;
}

const TIMEOUT_MS = 5_000;
/** L1 blocks of scenarios come at any second. */
const SLOT_SEC = 1;
/** One for all scenarios of this process: its threads load the trusted setup once. */
let shared: Kzg | undefined;

/** The beacon chain of the simulated L1: real blobs, commitments and proofs, and the answers of beacon nodes. */
export class SimBeacon {
  /** number of answers about blobs: wrong ones of the beacon node, and those of the archiver */
  readonly told = { lies: 0, byArchiver: 0 };
  readonly #l1: SimL1;
  readonly #beacon: FakeBeacon;

  constructor(l1: SimL1, { isFulu, l1ChainId }: SimBeaconOptions) {
    this.#l1 = l1;
    this.#beacon = new FakeBeacon({
      genesisTimeSec: GENESIS_TIME_SEC,
      slotSec: SLOT_SEC,
      l1ChainId: Number(l1ChainId),
      ...(isFulu ? { fuluEpoch: 0 } : {}),
    });
  }

  /** A node's real client, with a beacon node that has the state's faults, and an archiver without faults. */
  client(of: {
    readonly process: SimProcess;
    readonly clock: SimClock;
    readonly random: Random;
    readonly state: BeaconState;
    readonly log: Logger;
  }) {
    const { process, clock, random, state, log } = of;
    const kzg = (shared ??= createKzg({ threads: 1 }));
    const ask = (name: string, path: string, query: readonly (readonly [string, string])[]): Promise<BeaconReply> =>
      process.wait(
        this.#exchange(name, path, new URLSearchParams(query.map(([key, value]): [string, string] => [key, value])), {
          clock,
          random,
          state,
        }),
      );
    return new BeaconClient(
      { urls: ["http://beacon.invalid", "http://archiver.invalid"], fetchesAll: false },
      {
        kzg: {
          load: () => kzg.load(),
          commitment: (blob) => process.work(kzg.commitment(blob)),
          verifyBlobProof: (blob, commitment, proof) => process.work(kzg.verifyBlobProof(blob, commitment, proof)),
          blobProof: (blob, commitment) => process.work(kzg.blobProof(blob, commitment)),
          cellsAndProofs: (blob) => process.work(kzg.cellsAndProofs(blob)),
          verifyBlobCells: (blob, commitment, proofs) => process.work(kzg.verifyBlobCells(blob, commitment, proofs)),
          verifyCellProofs: (cells) => process.work(kzg.verifyCellProofs(cells)),
          close: () => Promise.resolve(),
        },
        clock: process.clock,
        log,
        metrics: createBeaconMetrics(noMetrics),
        connect: ({ url }) => ({
          name: new URL(url).hostname,
          get: (path, query) => ask(new URL(url).hostname, path, query ?? []),
          close: () => Promise.resolve(),
        }),
      },
    );
  }

  async #exchange(
    name: string,
    path: string,
    query: URLSearchParams,
    { clock, random, state }: { readonly clock: SimClock; readonly random: Random; readonly state: BeaconState },
  ): Promise<BeaconReply> {
    const fail = (reason: string) => new L1Error("l1/unavailable", { endpoint: name, what: path, reason });
    if (state.maxLatencyMs > 0) await clock.sleep(random.between(0, state.maxLatencyMs));
    if (state.isDown || random.chance(state.failureRate)) throw fail("connection refused");
    if (state.stalls) {
      await clock.sleep(TIMEOUT_MS);
      throw fail("no answer in time");
    }
    const isArchiver = name.startsWith("archiver");
    const told = this.#answer(`/${path}`, query);
    if (told === "hang" || told === "drop" || "text" in told) throw fail("no answer");
    if (told.status !== 200) return { kind: "refused", status: told.status, message: "not found" };
    const json = isArchiver ? told.json : lied(told.json, state.blobLie, random);
    if (isArchiver) this.told.byArchiver++;
    if (json !== told.json) this.told.lies++;
    return { kind: "ok", json };
  }

  #answer(path: string, query: URLSearchParams) {
    const [, slot] = /\/(\d+)$/.exec(path) ?? [];
    if (slot !== undefined) this.#serve(Number(slot));
    return this.#beacon.answerTo(path, query);
  }

  /** Has the blobs of the canonical block of a slot ready. */
  #serve(slot: number): void {
    const block = this.#l1.blocks.findLast(({ ref }) => ref.timestamp === GENESIS_TIME_SEC + slot * SLOT_SEC);
    this.#beacon.forget(slot);
    if (block === undefined) return;
    const hashes = block.stored.block.transactions.flatMap((tx) => (tx.type === 3 ? tx.blobVersionedHashes : []));
    this.#beacon.add(
      slot,
      hashes.map((hash) => testBlob(this.#l1.blob(hash)!)),
    );
  }
}

function lied(json: unknown, lie: BlobLie | undefined, random: Random): unknown {
  const { data } = json as { readonly data: unknown };
  if (lie === undefined || !Array.isArray(data) || data.length === 0) return json;
  if (lie === "missing") return { data: [] };
  const at = random.below(data.length);
  if (lie === "withheld") return { data: data.filter((_, i) => i !== at) };
  return { data: data.map((one: unknown, i) => (i === at ? alteredBlob(one, random) : one)) };
}

/** A sidecar, or a blob alone, with another digit somewhere. */
function alteredBlob(one: unknown, random: Random): unknown {
  if (typeof one !== "string") {
    const sidecar = one as Readonly<Record<string, unknown>>;
    const key = random.pick(["blob", "kzg_commitment", "kzg_proof"]);
    return { ...sidecar, [key]: alteredBlob(sidecar[key], random) };
  }
  const at = 2 + random.below(one.length - 2);
  return `${one.slice(0, at)}${one[at] === "1" ? "2" : "1"}${one.slice(at + 1)}`;
}
