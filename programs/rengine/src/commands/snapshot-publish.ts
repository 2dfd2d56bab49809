import { createPrivateKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { bytesToHex, isCodedError } from "@rnode/primitives";
import { type CommandIo, listenForStop, systemClock, UserError } from "@rnode/program";
import { openSnapshotStore, publicKeyOf, publishSnapshot, type SnapshotMade, type SnapshotStore } from "@rnode/snapshot";
import { describeError } from "../setup/describe-error.ts";
import { fileError } from "../setup/read-input.ts";
import { openSource, type SourceOptions } from "./snapshot-source.ts";

/** After a failure, unless the next snapshot is due sooner. */
const RETRY_MS = 60_000;
/** What another attempt does not repair. */
const MISTAKES = ["snapshot/bad-index", "snapshot/bad-store", "snapshot/store-failed"] as const;

export interface PublishOptions extends SourceOptions {
  /** `undefined`: one snapshot */
  readonly everyMs?: number | undefined;
  readonly keep?: number | undefined;
  readonly signingKey?: string | undefined;
}

/** `rengine snapshot create --to=…`: once, or again and again until a signal ends it. */
export async function publishSnapshots(
  to: string,
  options: PublishOptions,
  print: (made: SnapshotMade) => void,
  io: CommandIo,
): Promise<void> {
  const { everyMs } = options;
  const key = options.signingKey === undefined ? undefined : readSigningKey(options.signingKey);
  if (key === undefined)
    io.err("the index is not signed: a node that starts from it has to be given a block's hash (--signing-key)");
  else io.err(`the index is signed: --snapshot.public-key=${bytesToHex(publicKeyOf(key))}`);
  const store = await openSnapshotStore(to, process.env);
  const ended = new AbortController();
  // The first process of a container is not ended by a signal that it does not listen to.
  const stop = listenForStop(() => process.exit(1));
  void stop.asked.then(() => ended.abort());
  const once = (): Promise<void> => publishOnce(store, { ...options, key, signal: ended.signal }, print, io);
  try {
    if (everyMs === undefined) await once();
    else await repeat(everyMs, once, ended.signal, io);
  } catch (error) {
    if (!ended.signal.aborted) throw error;
  } finally {
    stop.forget();
  }
}

/** Wrong options end the first round. What may pass is reported, and tried again. */
async function repeat(everyMs: number, once: () => Promise<void>, signal: AbortSignal, io: CommandIo): Promise<void> {
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const startMs = systemClock.monotonicMs();
    let pauseMs = everyMs;
    try {
      await once();
    } catch (error) {
      signal.throwIfAborted();
      const reason = describeError(error);
      const isMistake = MISTAKES.some((code) => isCodedError(error, code));
      if (reason === undefined || (isFirst && isMistake)) throw error;
      pauseMs = Math.min(everyMs, RETRY_MS);
      io.err(`no snapshot was made: ${reason}; trying again in ${pauseMs / 1000} s`);
    }
    await systemClock.sleep(startMs + pauseMs - systemClock.monotonicMs(), signal);
  }
}

interface Round extends PublishOptions {
  readonly key: KeyObject | undefined;
  readonly signal: AbortSignal;
}

async function publishOnce(
  target: SnapshotStore,
  { key, keep, signal, ...source }: Round,
  print: (made: SnapshotMade) => void,
  io: CommandIo,
): Promise<void> {
  // Opened for each snapshot, because a client may put another database in its place.
  const { store, request } = await openSource(source, io);
  try {
    const nowUnixMs = systemClock.unixMs();
    const published = await publishSnapshot(store, target, { request, key, keep, nowUnixMs, signal });
    if (published.kind === "present") {
      io.err(`${target.place} has the snapshot of block ${published.entry.number} already`);
      return;
    }
    print(published.made);
    io.err(`published ${published.entry.name}${published.removed.map((name) => `, removed ${name}`).join("")}`);
  } finally {
    await store.close();
  }
}

function readSigningKey(file: string): KeyObject {
  let text: Buffer;
  try {
    text = readFileSync(file);
  } catch (cause) {
    throw fileError(file, cause);
  }
  try {
    const key = createPrivateKey(text);
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // what was found is not said: it may be a secret
  }
  throw new UserError(`--signing-key: ${file} holds no ed25519 key: expected PEM, as openssl genpkey -algorithm ed25519 writes it`);
}
