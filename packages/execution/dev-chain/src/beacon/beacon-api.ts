import type { Kzg } from "@rnode/kzg";
import { bytesToHex, type Hex, hexToFixedBytes } from "@rnode/primitives";
import type { ChainConfig } from "@rnode/protocol";
import { commitmentInclusionProof, NO_SIGNATURE } from "./beacon-block.ts";
import type { BeaconBlock, BeaconChain } from "./beacon-chain.ts";
import type { BlobStore, StoredBlob } from "./blob-store.ts";

/*
 * The part of the beacon API that readers of blobs use, as JSON. Spec: ethereum/beacon-APIs; docs/protocol/05-services.md#beacon-api
 */

export interface BeaconApiOptions {
  readonly config: Pick<ChainConfig, "chainId">;
  /** slots for which blobs are kept */
  readonly blobRetentionSlots: number;
  /** such as `rengine/v0.1.0` */
  readonly version: string;
}

export interface BeaconApiDeps {
  readonly beacon: BeaconChain;
  readonly blobs: BlobStore;
  readonly kzg: Kzg;
}

export interface BeaconReply {
  readonly status: number;
  readonly body: unknown;
}

/** A request that gets an error, in the API's own form. */
class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const FAR_FUTURE_EPOCH = "18446744073709551615";
const GENESIS_FORK_VERSION = "0x10000038";
const MAX_BLOBS_OF_BLOCK = 4096;
const CELL_PROOFS = 128;

type Handler = (argument: string, query: URLSearchParams) => unknown;

/** Answers GET requests. */
export class BeaconApi {
  readonly #options: BeaconApiOptions;
  readonly #deps: BeaconApiDeps;
  readonly #routes: readonly (readonly [RegExp, Handler])[];

  constructor(options: BeaconApiOptions, deps: BeaconApiDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#routes = [
      [/^\/eth\/v1\/beacon\/genesis$/, () => ({ data: this.#genesis() })],
      [/^\/eth\/v1\/config\/spec$/, () => ({ data: this.#spec() })],
      [/^\/eth\/v1\/config\/deposit_contract$/, () => ({ data: this.#depositContract() })],
      [/^\/eth\/v1\/node\/version$/, () => ({ data: { version: this.#options.version } })],
      [/^\/eth\/v1\/node\/syncing$/, () => ({ data: this.#syncing() })],
      [/^\/eth\/v1\/node\/health$/, () => ""],
      [/^\/eth\/v1\/beacon\/headers$/, (_, query) => this.#headers(query)],
      [/^\/eth\/v1\/beacon\/headers\/([^/]+)$/, (id) => this.#header(id)],
      [/^\/eth\/v1\/beacon\/blocks\/([^/]+)\/root$/, (id) => this.#root(id)],
      [/^\/eth\/v1\/beacon\/states\/([^/]+)\/finality_checkpoints$/, (id) => this.#checkpoints(id)],
      [/^\/eth\/v1\/beacon\/blob_sidecars\/([^/]+)$/, (id, query) => this.#sidecars(id, query)],
      [/^\/eth\/v1\/beacon\/blobs\/([^/]+)$/, (id, query) => this.#blobs(id, query)],
    ];
  }

  /** @param path with its leading slash; undefined: not a path of the beacon API */
  async answer(path: string, query: URLSearchParams): Promise<BeaconReply | undefined> {
    if (!path.startsWith("/eth/")) return undefined;
    try {
      for (const [pattern, handler] of this.#routes) {
        const found = pattern.exec(path);
        if (found !== null) return { status: 200, body: await handler(found[1] ?? "", query) };
      }
      throw new Refused(404, `this node has no ${path}`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { status: error.status, body: { code: error.status, message: error.message } };
    }
  }

  #genesis(): object {
    return {
      genesis_time: String(this.#deps.beacon.options.genesisSec),
      genesis_validators_root: bytesToHex(this.#deps.beacon.genesis().root),
      genesis_fork_version: GENESIS_FORK_VERSION,
    };
  }

  #spec(): Record<string, unknown> {
    const { beacon } = this.#deps;
    const { slotSec, slotsPerEpoch } = beacon.options;
    const epochOf = (fork: "deneb" | "electra" | "fulu"): string => {
      const epoch = beacon.epochOf(fork);
      return epoch === undefined ? FAR_FUTURE_EPOCH : String(epoch);
    };
    const retentionEpochs = String(Math.ceil(this.#options.blobRetentionSlots / slotsPerEpoch));
    return {
      CONFIG_NAME: "rengine-dev",
      PRESET_BASE: "mainnet",
      SECONDS_PER_SLOT: String(slotSec),
      SLOT_DURATION_MS: String(slotSec * 1000),
      SLOTS_PER_EPOCH: String(slotsPerEpoch),
      MIN_GENESIS_TIME: String(beacon.options.genesisSec),
      GENESIS_FORK_VERSION,
      ...Object.fromEntries(["ALTAIR", "BELLATRIX", "CAPELLA"].map((fork) => [`${fork}_FORK_EPOCH`, "0"])),
      DENEB_FORK_EPOCH: epochOf("deneb"),
      ELECTRA_FORK_EPOCH: epochOf("electra"),
      FULU_FORK_EPOCH: epochOf("fulu"),
      MIN_EPOCHS_FOR_BLOB_SIDECARS_REQUESTS: retentionEpochs,
      MIN_EPOCHS_FOR_DATA_COLUMN_SIDECARS_REQUESTS: retentionEpochs,
      FIELD_ELEMENTS_PER_BLOB: "4096",
      MAX_BLOB_COMMITMENTS_PER_BLOCK: String(MAX_BLOBS_OF_BLOCK),
      DEPOSIT_CHAIN_ID: String(this.#options.config.chainId),
      DEPOSIT_NETWORK_ID: String(this.#options.config.chainId),
    };
  }

  #depositContract(): object {
    return { chain_id: String(this.#options.config.chainId), address: `0x${"00".repeat(20)}` };
  }

  #syncing(): object {
    const { slot } = this.#deps.beacon.head().header;
    return { head_slot: String(slot), sync_distance: "0", is_syncing: false, is_optimistic: false, el_offline: false };
  }

  #headers(query: URLSearchParams): object {
    const { beacon } = this.#deps;
    const slot = query.get("slot");
    const parentRoot = query.get("parent_root");
    let found = slot === null ? beacon.head() : beacon.atSlot(slotNumber(slot));
    if (parentRoot !== null) {
      const wanted = bytesToHex(rootBytes(parentRoot));
      if (slot === null) found = this.#childOf(wanted);
      if (found !== undefined && bytesToHex(found.header.parentRoot) !== wanted) found = undefined;
    }
    if (found === undefined) throw new Refused(404, "no beacon block header matches");
    return { ...this.#status(found), data: [this.#headerJson(found)] };
  }

  #childOf(parentRoot: Hex): BeaconBlock | undefined {
    const { beacon } = this.#deps;
    const parent = beacon.byRoot(hexToFixedBytes(parentRoot, 32));
    return parent && beacon.ofNumber(parent.executionNumber + 1);
  }

  #header(id: string): object {
    const found = this.#select(id);
    return { ...this.#status(found), data: this.#headerJson(found) };
  }

  #root(id: string): object {
    const found = this.#select(id);
    return { ...this.#status(found), data: { root: bytesToHex(found.root) } };
  }

  #checkpoints(id: string): object {
    if (id !== "head") this.#select(id);
    const { beacon } = this.#deps;
    const checkpoint = (block: BeaconBlock): object => ({
      epoch: String(Math.floor(block.header.slot / beacon.options.slotsPerEpoch)),
      root: bytesToHex(block.root),
    });
    const [safe, finalized] = [beacon.labelled("safe"), beacon.labelled("finalized")];
    return {
      ...this.#status(beacon.head()),
      data: {
        previous_justified: checkpoint(finalized),
        current_justified: checkpoint(safe),
        finalized: checkpoint(finalized),
      },
    };
  }

  async #sidecars(id: string, query: URLSearchParams): Promise<object> {
    const found = this.#select(id);
    if (found.fork === "fulu") {
      throw new Refused(400, `slot ${found.header.slot} is after Fulu, which has no blob sidecars: ask /eth/v1/beacon/blobs`);
    }
    const wanted = indicesOf(query, found.versionedHashes.length);
    const signedHeader = { message: headerMessage(found), signature: bytesToHex(NO_SIGNATURE) };
    const data: object[] = [];
    for (const [index, blob] of this.#available(found)) {
      if (!wanted.has(index)) continue;
      data.push({
        index: String(index),
        blob: bytesToHex(blob.blob),
        kzg_commitment: bytesToHex(blob.commitment),
        kzg_proof: bytesToHex(await this.#blobProof(blob)),
        signed_block_header: signedHeader,
        kzg_commitment_inclusion_proof: commitmentInclusionProof(found.body, index).map(bytesToHex),
      });
    }
    return { version: found.fork, ...this.#status(found), data };
  }

  #blobs(id: string, query: URLSearchParams): object {
    const found = this.#select(id);
    const wanted = new Set(listOf(query, "versioned_hashes").map((hash) => bytesToHex(rootBytes(hash))));
    const isWanted = (index: number): boolean => wanted.size === 0 || wanted.has(bytesToHex(found.versionedHashes[index]!));
    const data = this.#available(found).flatMap(([index, { blob }]) => (isWanted(index) ? [bytesToHex(blob)] : []));
    return { ...this.#status(found), data };
  }

  /** @throws {Refused} the block has blobs, and all of them are gone */
  #available({ header, versionedHashes }: BeaconBlock): (readonly [index: number, blob: StoredBlob])[] {
    const found = versionedHashes.flatMap((hash, index) => {
      const blob = this.#deps.blobs.read(hash);
      return blob === undefined ? [] : [[index, blob] as const];
    });
    if (found.length === 0 && versionedHashes.length > 0) throw new Refused(404, `the blobs of slot ${header.slot} are not here`);
    return found;
  }

  async #blobProof({ blob, commitment, proofs }: StoredBlob): Promise<Uint8Array> {
    return proofs.length === CELL_PROOFS ? await this.#deps.kzg.blobProof(blob, commitment) : proofs[0]!;
  }

  #status(block: BeaconBlock): { readonly execution_optimistic: false; readonly finalized: boolean } {
    return {
      execution_optimistic: false,
      finalized: block.executionNumber <= this.#deps.beacon.labelled("finalized").executionNumber,
    };
  }

  #headerJson(block: BeaconBlock): object {
    return {
      root: bytesToHex(block.root),
      canonical: this.#deps.beacon.isCanonical(block),
      header: { message: headerMessage(block), signature: bytesToHex(NO_SIGNATURE) },
    };
  }

  /** @throws {Refused} */
  #select(id: string): BeaconBlock {
    const { beacon } = this.#deps;
    switch (id) {
      case "head":
        return beacon.head();
      case "genesis":
        return beacon.genesis();
      case "finalized":
        return beacon.labelled("finalized");
      case "justified":
        return beacon.labelled("safe");
    }
    const found = id.startsWith("0x") ? beacon.byRoot(rootBytes(id)) : beacon.atSlot(slotNumber(id));
    if (found === undefined) throw new Refused(404, `Block not found: ${id}`);
    return found;
  }
}

const headerMessage = ({ header }: BeaconBlock): object => ({
  slot: String(header.slot),
  proposer_index: String(header.proposerIndex),
  parent_root: bytesToHex(header.parentRoot),
  state_root: bytesToHex(header.stateRoot),
  body_root: bytesToHex(header.bodyRoot),
});

/** @throws {Refused} */
function slotNumber(text: string): number {
  const slot = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(slot)) {
    throw new Refused(400, `Invalid block ID: ${text}; expected head, genesis, finalized, justified, a slot or a root`);
  }
  return slot;
}

/** @throws {Refused} */
function rootBytes(text: string): Uint8Array {
  if (!/^0x[0-9a-fA-F]{64}$/.test(text)) throw new Refused(400, `Invalid hash: ${text}; expected 32 bytes in hex`);
  return hexToFixedBytes(text, 32);
}

/** A parameter that may repeat, and may hold several values with commas between. */
const listOf = (query: URLSearchParams, name: string): string[] =>
  query.getAll(name).flatMap((values) => values.split(",").filter((value) => value !== ""));

/** @throws {Refused} */
function indicesOf(query: URLSearchParams, count: number): ReadonlySet<number> {
  const given = listOf(query, "indices");
  if (given.length === 0) return new Set(Array.from({ length: count }, (_, index) => index));
  return new Set(
    given.map((text) => {
      if (!/^\d{1,4}$/.test(text) || Number(text) >= MAX_BLOBS_OF_BLOCK) throw new Refused(400, `Invalid index: ${text}`);
      return Number(text);
    }),
  );
}
