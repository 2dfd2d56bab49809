import { createHash } from "node:crypto";
import { createReadStream, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Logger } from "@rnode/observe";
import { bytesToHex, type Clock, hexToBytes, isCodedError } from "@rnode/primitives";
import { makeFolder, type OptionsOf, UserError } from "@rnode/program";
import { downloadSnapshot, type IndexEntry, loadSnapshot, PublishedSnapshots, restoreCommits } from "@rnode/snapshot";
import type { ChainDatabase, ChainStoreOptions } from "@rnode/storage";
import { type ChainSpec, genesisHashOf, noteGenesis } from "./chain-spec.ts";
import { openDatabase } from "./database.ts";
import type { snapshot } from "./snapshot-options.ts";

const PARTIAL_PREFIX = "snapshot.";
const PROGRESS_MS = 10_000;

export interface SnapshotStart {
  readonly datadir: string;
  readonly spec: ChainSpec;
  readonly database: ChainStoreOptions;
  readonly log: Logger;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly signal: AbortSignal;
}

/**
 * Makes the database of an empty data folder from a published snapshot. The database has no chain before everything was checked, so the next start
 * goes on where this one was interrupted.
 *
 * @throws {UserError} no word on whom to trust, or no such snapshot; CodedError download/*, snapshot/*, storage/*
 */
export async function startFromSnapshot(options: OptionsOf<typeof snapshot>, start: SnapshotStart): Promise<void> {
  const { from, publicKey, blockHash } = options;
  if (from === "") return;
  if (publicKey === undefined && blockHash === undefined)
    throw new UserError(
      "--snapshot: say whom to trust: --snapshot.public-key, of the one who signs the index, or --snapshot.block-hash, from a node or an explorer that you trust",
    );
  const { datadir, database, log } = start;
  makeFolder(datadir);
  const store = openDatabase(datadir, database);
  try {
    const head = store.head();
    if (head === undefined) await restore(store, { from, publicKey, blockHash }, start);
    else log.info("--snapshot is not used: there is a database", { head: head.number });
  } finally {
    await store.close();
  }
}

interface Wanted {
  readonly from: string;
  readonly publicKey: Uint8Array | undefined;
  readonly blockHash: Uint8Array | undefined;
}

async function restore(store: ChainDatabase, wanted: Wanted, { datadir, spec, log, clock, signal }: SnapshotStart): Promise<void> {
  const genesisHash = await genesisHashOf(spec);
  const trusted = { chainId: spec.config.chainId, genesisHash, publicKey: wanted.publicKey };
  const published = await PublishedSnapshots.read(wanted.from, trusted, { env: process.env, signal });
  const entry = chosen(published.snapshots, wanted, datadir);
  const { number, hash, bytes } = entry;
  log.info("starting from a snapshot", { from: wanted.from, number, hash, bytes });
  const file = join(datadir, PARTIAL_PREFIX + entry.name);
  for (const name of partialFiles(datadir)) if (name !== basename(file)) rmSync(join(datadir, name));
  const expected = { config: spec.config, genesisHash, blockHash: hexToBytes(hash) };
  const say = progress(log, clock);
  try {
    await downloadSnapshot(await published.urlOf(entry), file, {
      expected,
      maxBytes: bytes,
      signal,
      onProgress: (doneBytes, totalBytes) => say("downloading the snapshot", { doneBytes, totalBytes }),
      onRetry: (reason, waitMs) => log.warn("the snapshot does not come: trying again", { reason, waitMs }),
    });
    await checkSha256(file, entry, wanted.from);
    const loaded = await loadSnapshot(file, expected, {
      folder: datadir,
      onProgress: ({ doneBytes, totalBytes }) => say("checking the snapshot", { doneBytes, totalBytes }),
    });
    try {
      for (const _ of restoreCommits(store, loaded, (rows) => say("writing the snapshot's state", { rows })))
        await nextTurn(signal);
    } finally {
      loaded.close();
    }
  } catch (error) {
    // Another download would be refused like this one, or may bring another file.
    const isUseless = isCodedError(error, "snapshot/")
      ? error.code !== "snapshot/no-room"
      : isCodedError(error, "download/too-large");
    if (isUseless || isCodedError(error, "download/replaced")) rmSync(file, { force: true });
    throw error;
  }
  noteGenesis(store, spec);
  rmSync(file, { force: true });
  log.info("the state of the snapshot is complete", { number, hash });
}

/** The snapshot whose download was begun, if it is still there; otherwise the newest one. @throws {UserError} */
function chosen(snapshots: readonly IndexEntry[], { from, blockHash }: Wanted, datadir: string): IndexEntry {
  const hash = blockHash && bytesToHex(blockHash);
  const fitting = snapshots.filter((entry) => hash === undefined || entry.hash === hash);
  const begun = new Set(partialFiles(datadir));
  const entry = fitting.find(({ name }) => begun.has(PARTIAL_PREFIX + name)) ?? fitting[0];
  if (entry !== undefined) return entry;
  const there = snapshots.map((each) => `block ${each.number} (${each.hash})`).join(", ") || "none";
  throw new UserError(`--snapshot: ${from} has ${hash === undefined ? "no snapshot" : `none of block ${hash}`}; there: ${there}`);
}

const partialFiles = (datadir: string): string[] =>
  readdirSync(datadir).filter((name) => name.startsWith(PARTIAL_PREFIX) && name.endsWith(".snap"));

async function checkSha256(file: string, { sha256, name }: IndexEntry, place: string): Promise<void> {
  const digest = createHash("sha256");
  for await (const piece of createReadStream(file, { highWaterMark: 1 << 20 })) digest.update(piece as Buffer);
  const found = bytesToHex(digest.digest());
  if (found === sha256) return;
  rmSync(file);
  throw new UserError(`--snapshot: ${name} of ${place} has the sha256 ${found}, but its index says ${sha256}`);
}

function progress(
  log: Logger,
  clock: Pick<Clock, "monotonicMs">,
): (what: string, fields: Record<string, number | undefined>) => void {
  let saidMs = clock.monotonicMs();
  return (what, fields) => {
    if (clock.monotonicMs() - saidMs < PROGRESS_MS) return;
    saidMs = clock.monotonicMs();
    log.info(what, fields);
  };
}

/** Lets other work run, such as answers on health, between two commits. */
async function nextTurn(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}
