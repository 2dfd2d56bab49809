import { rmSync } from "node:fs";
import { registryPlace } from "@rnode/networks";
import { bytesToHex, isCodedError } from "@rnode/primitives";
import type { CommandIo } from "@rnode/program";
import { hash, integerBetween, optionGroup, text } from "@rnode/program";
import { downloadSnapshot, type LoadedSnapshot, type SnapshotExpectation, type StartReach } from "@rnode/snapshot";

/** Options that say which chain a snapshot must be of. */
export const chainOptions = {
  chain: { parse: text, required: true, help: "Genesis file (JSON, also with gzip or Zstandard), or the name of a network." },
  registry: {
    parse: registryPlace,
    help: "A superchain registry: a URL, or a folder with the same paths. A named network is read from it instead of the table of this version.",
  },
} as const;

/** Of a snapshot at a URL. */
export const maxSize = {
  parse: integerBetween(1, 1_000_000_000),
  env: false,
  unit: "MiB",
  help: "Maximum size of a snapshot that is downloaded. Default: the size that the server states first. 1 GiB of the disk is kept free in any case.",
} as const;

const MIB = 1 << 20;
export const bytesOfMib = (mebibytes: number | undefined): number | undefined =>
  mebibytes === undefined ? undefined : mebibytes * MIB;

/** Options that say which block it must be of. */
export const trust = optionGroup("", {
  blockHash: {
    parse: hash,
    env: false,
    help: "Hash of the block that the snapshot must be of, from somebody you trust: a node of your own, an explorer.",
  },
  outputRoot: {
    parse: hash,
    env: false,
    help: "Output root of that block as it was posted on L1; commits to its hash and its state.",
  },
});

export function printSnapshot(
  io: CommandIo,
  loaded: Pick<LoadedSnapshot, "manifest" | "totals" | "reach" | "checksum">,
  asJson: boolean,
): void {
  const { manifest, totals, reach, checksum } = loaded;
  const { number, stateRoot } = manifest.header;
  const facts = {
    number,
    hash: bytesToHex(manifest.hash),
    stateRoot: bytesToHex(stateRoot),
    ...totals,
    reach,
    checksum: bytesToHex(checksum),
  };
  if (asJson) io.out(JSON.stringify({ ...facts, chainId: Number(manifest.chainId), oldestBlock: manifest.oldestBlock }));
  else io.out(describeSnapshot(facts));
}

interface SnapshotFacts {
  readonly number: number;
  readonly hash: string;
  readonly stateRoot: string;
  readonly accounts: number;
  readonly slots: number;
  readonly codes: number;
  readonly blocks: number;
  readonly reach: StartReach;
  readonly checksum: string;
}

export const describeSnapshot = ({
  number,
  hash: own,
  stateRoot,
  accounts,
  slots,
  codes,
  blocks,
  reach: { l1Blocks },
  checksum,
}: SnapshotFacts): string => {
  const ofL1 = l1Blocks === undefined ? "" : ` l1Blocks ${l1Blocks}`;
  return `block ${number} ${own} state ${stateRoot} accounts ${accounts} slots ${slots} codes ${codes} blocks ${blocks}${ofL1} checksum ${checksum}`;
};

/** Warns if a rollup node could not start from the snapshot. */
export function noteReach(io: CommandIo, { l1Blocks, neededL1Blocks, isEnough }: StartReach): void {
  if (isEnough) return;
  io.err(
    `no rollup node can start on this snapshot: its blocks reach ${l1Blocks} L1 blocks back, of the ${neededL1Blocks} that one reads (a channel may be open for so long): make it again without --blocks, or with more of them`,
  );
}

/** Downloads into `file`, and continues a partial file. @returns `file` */
export async function downloaded(
  url: string,
  file: string,
  { expected, maxBytes }: { readonly expected: SnapshotExpectation; readonly maxBytes: number | undefined },
  io: CommandIo,
): Promise<string> {
  const wentOn = await downloadSnapshot(url, file, {
    expected,
    maxBytes,
    onProgress: (doneBytes, totalBytes) => percent(io, "downloading")({ doneBytes, totalBytes }),
    onRetry: (reason, waitMs) => io.err(`${url}: ${reason}; trying again in ${waitMs / 1000} s`),
  }).catch((error: unknown) => {
    if (isUseless(error)) rmSync(file, { force: true });
    throw error;
  });
  if (wentOn) io.err("went on with what an earlier attempt had downloaded");
  return file;
}

/** Whether the partial file is useless for a later attempt. */
export const isUseless = (error: unknown): boolean =>
  isCodedError(error, "download/too-large") ||
  isCodedError(error, "download/replaced") ||
  (isCodedError(error, "snapshot/") && error.code !== "snapshot/no-room");

/** Reports progress in percent. */
export const percent =
  (io: CommandIo, what: string) =>
  ({ doneBytes, totalBytes }: { readonly doneBytes: number; readonly totalBytes: number | undefined }): void => {
    const done = `${(doneBytes / 2 ** 20).toFixed(1)} MiB`;
    io.progress(
      totalBytes === undefined ? `${what}: ${done}` : `${what}: ${Math.floor((100 * doneBytes) / totalBytes)} %, ${done}`,
    );
  };

export type { SnapshotExpectation };
