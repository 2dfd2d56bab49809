import type { Kzg } from "@rnode/kzg";
import { bytesToHex, type Hex } from "@rnode/primitives";
import type { BlockEntry, L1Store } from "./l1-store.ts";

interface BeaconAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Answers requests of the beacon API. */
export type BeaconAnswers = (path: string, query: URLSearchParams) => Promise<BeaconAnswer>;

export interface BeaconDeps {
  /** the newest block that L1 has by now */
  readonly head: () => BlockEntry;
  /** makes the commitments and proofs of sidecars, which are not recorded */
  readonly kzg: () => Kzg;
}

const refused = (status: number, message: string): BeaconAnswer => ({ status, body: { code: status, message } });
const given = (data: unknown): BeaconAnswer => ({ status: 200, body: { execution_optimistic: false, finalized: true, data } });

/** Answers as a beacon node that has the blobs of a store, by slot. */
export function beaconAnswers(store: L1Store, { head, kzg }: BeaconDeps): BeaconAnswers {
  const { beacon } = store.chain;
  if (beacon === undefined) return async () => refused(404, "nothing of a beacon node was recorded");
  const genesisTimeSec = Number(beacon.genesis.genesis_time);
  const slotSec = Number(beacon.spec.SECONDS_PER_SLOT);
  const bySlot = new Map(store.entries.map((entry) => [Math.floor((entry.timestampSec - genesisTimeSec) / slotSec), entry]));

  return async (path, query) => {
    if (path === "/eth/v1/node/version") return given({ version: "recorded-l1/v1" });
    if (path === "/eth/v1/beacon/genesis") return given(beacon.genesis);
    if (path === "/eth/v1/config/spec") return given(beacon.spec);
    const [, api, slot] = /^\/eth\/v1\/beacon\/(blobs|blob_sidecars)\/(\d+)$/.exec(path) ?? [];
    if (api === undefined) return refused(404, `${path} is not recorded`);
    const entry = bySlot.get(Number(slot));
    if (entry === undefined || entry.number > head().number) return refused(404, `slot ${slot} has no recorded block`);
    const wanted = api === "blobs" ? selectedByHash(entry, query) : selectedByIndex(entry, query);
    const found: { readonly index: number; readonly blob: Uint8Array }[] = [];
    for (const [index, hash] of wanted) {
      const blob = store.blob(hash);
      if (blob === undefined) return refused(404, `blob ${hash} of slot ${slot} is not recorded`);
      found.push({ index, blob });
    }
    return given(
      api === "blobs"
        ? found.map(({ blob }) => bytesToHex(blob))
        : await Promise.all(found.map(({ index, blob }) => sidecar(kzg(), index, blob))),
    );
  };
}

type Selection = readonly (readonly [index: number, versionedHash: Hex])[];

function selectedByHash({ blobHashes }: BlockEntry, query: URLSearchParams): Selection {
  const hashes = listOf(query, "versioned_hashes");
  return [...blobHashes.entries()].filter(([, hash]) => hashes.length === 0 || hashes.includes(hash));
}

function selectedByIndex({ blobHashes }: BlockEntry, query: URLSearchParams): Selection {
  const indices = listOf(query, "indices");
  return [...blobHashes.entries()].filter(([index]) => indices.length === 0 || indices.includes(String(index)));
}

/** Lists are written as one value with commas or as several values. */
const listOf = (query: URLSearchParams, name: string): string[] => query.getAll(name).flatMap((value) => value.split(","));

async function sidecar(kzg: Kzg, index: number, blob: Uint8Array): Promise<object> {
  const commitment = await kzg.commitment(blob);
  if (commitment === undefined) throw new Error("what was recorded is no blob");
  return {
    index: String(index),
    blob: bytesToHex(blob),
    kzg_commitment: bytesToHex(commitment),
    kzg_proof: bytesToHex(await kzg.blobProof(blob, commitment)),
  };
}
