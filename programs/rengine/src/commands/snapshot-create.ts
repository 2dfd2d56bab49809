import { closeSync, fsyncSync, renameSync, rmSync, writeSync } from "node:fs";
import { bytesToHex } from "@rnode/primitives";
import {
  bool,
  type CommandIo,
  command,
  integerBetween,
  openForOthers,
  optionGroup,
  optionTable,
  path,
  positiveDuration,
  textOf,
  UserError,
} from "@rnode/program";
import { createSnapshot, MIN_SNAPSHOT_BLOCKS, type SnapshotMade } from "@rnode/snapshot";
import { numberOrTag } from "../setup/block-option.ts";
import { VERSION } from "../version.ts";
import { publishSnapshots } from "./snapshot-publish.ts";
import { chainOptions, describeSnapshot, noteReach } from "./snapshot-shared.ts";
import { openSource, type SourceOptions } from "./snapshot-source.ts";

const table = optionTable({
  program: "rengine snapshot create",
  summary: "Writes the state after a block and the last blocks into one file, also while the client runs.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      ...chainOptions,
      datadir: { parse: path, required: true, help: "Folder of the database; a running client may be writing to it." },
      block: {
        parse: numberOrTag,
        env: false,
        help: "Block whose state is taken. Default: the finalized one, or else the head.",
      },
      blocks: {
        parse: integerBetween(MIN_SNAPSHOT_BLOCKS, 10_000_000),
        env: false,
        unit: "blocks",
        help: "How many blocks are taken, with their receipts. Default: 256, which execution needs, and as many as a rollup node reads when it starts, which are those of 300 L1 blocks.",
      },
      json: { parse: bool, default: false, env: false, help: "Print the result as JSON." },
    }),
    publish: optionGroup("", {
      to: {
        parse: textOf("folder|s3://bucket/prefix", "a folder, or s3://bucket/prefix"),
        help: "Where snapshots are published, with an index, in place of FILE. A bucket of a store with the S3 protocol takes its credentials, region and endpoint from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL.",
      },
      everyMs: {
        parse: positiveDuration,
        flag: "every",
        needs: "to",
        isMistakeAlone: true,
        help: "Run on, and publish a snapshot so often, if there is a newer block for it. Default: once.",
      },
      keep: {
        parse: integerBetween(1, 1000),
        needs: "to",
        isMistakeAlone: true,
        unit: "snapshots",
        help: "How many snapshots the index names, the newest ones. The file of an older one is removed with the snapshot after the next. Default: all.",
      },
      signingKey: {
        parse: path,
        needs: "to",
        isMistakeAlone: true,
        help: "File with the ed25519 key that signs the index (PEM, openssl genpkey -algorithm ed25519). Its public key is printed at the start. Default: the index is not signed.",
      },
    }),
  },
  positionals: { name: "FILE", min: 0, max: 1 },
});

/** `rengine snapshot create`: prints the chain and block of the snapshot, and its checksum. */
export const createSnapshotFile = command({ table, version: VERSION }, async ({ options: { main, publish }, positionals }, io) => {
  const [file] = positionals;
  const { to } = publish;
  if ((file === undefined) === (to === undefined))
    throw new UserError("name a FILE for one snapshot, or a place for published ones with --to");
  const print = (made: SnapshotMade): void => report(made, main.json, io);
  if (file !== undefined) print(await createFile(file, main, io));
  else await publishSnapshots(to!, { ...main, ...publish }, print, io);
  return 0;
});

async function createFile(file: string, options: SourceOptions, io: CommandIo): Promise<SnapshotMade> {
  const { store, request } = await openSource(options, io);
  const partial = `${file}.partial`;
  try {
    const output = openForOthers(partial);
    const made = await createSnapshot(store, request, async (bytes) => {
      for (let done = 0; done < bytes.length; ) done += writeSync(output, bytes, done);
    }).finally(() => {
      fsyncSync(output);
      closeSync(output);
    });
    renameSync(partial, file);
    return made;
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  } finally {
    await store.close();
  }
}

function report(made: SnapshotMade, json: boolean, io: CommandIo): void {
  const { number, hash } = made.block;
  const facts = { ...made, number, hash, stateRoot: bytesToHex(made.stateRoot), checksum: bytesToHex(made.checksum) };
  const { block: _, ...plain } = facts;
  noteReach(io, made.reach);
  io.out(json ? JSON.stringify(plain) : `${describeSnapshot(facts)} bytes ${made.fileBytes}`);
}
