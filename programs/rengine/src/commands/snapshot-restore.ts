import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bytesToHex } from "@rnode/primitives";
import { bool, type CommandIo, command, makeFolder, optionGroup, optionTable, path, textOf, UserError } from "@rnode/program";
import { loadSnapshot, restoreSnapshot, type SnapshotExpectation } from "@rnode/snapshot";
import { type ChainSpec, genesisHashOf, loadChainSpec, noteGenesis } from "../setup/chain-spec.ts";
import { openDatabase } from "../setup/database.ts";
import { isUrl } from "../setup/read-input.ts";
import { VERSION } from "../version.ts";
import {
  bytesOfMib,
  chainOptions,
  downloaded,
  isUseless,
  maxSize,
  noteReach,
  percent,
  printSnapshot,
  trust,
} from "./snapshot-shared.ts";

const table = optionTable({
  program: "rengine snapshot restore",
  summary: "Makes a database from a snapshot, after its state root was computed and compared.",
  envPrefix: "RENGINE_",
  exclusive: [
    ["trust-snapshot", "block-hash"],
    ["trust-snapshot", "output-root"],
  ],
  groups: {
    main: optionGroup("", {
      ...chainOptions,
      datadir: { parse: path, required: true, help: "Folder of the new database." },
      from: {
        parse: textOf("file|url", "a file or URL"),
        required: true,
        env: false,
        help: "The snapshot. From a URL it is downloaded into the folder first; an interrupted download goes on where it was.",
      },
      maxSize,
      json: { parse: bool, default: false, env: false, help: "Print the result as JSON." },
    }),
    trust,
    unsafe: optionGroup("", {
      trustSnapshot: {
        parse: bool,
        default: false,
        env: false,
        help: "Believe whoever made the file that its block is one of the chain. The state is checked against that block only.",
      },
    }),
  },
});

/** Within the folder of the database. */
const PARTIAL_FILE = "snapshot.partial";

/** `rengine snapshot restore`: prints the restored chain and block. The folder holds no chain until the last step. */
export const restoreFromSnapshot = command({ table, version: VERSION }, async ({ options }, io) => {
  const { chain, registry, datadir, from, json } = options.main;
  const maxBytes = bytesOfMib(options.main.maxSize);
  const { blockHash, outputRoot } = options.trust;
  if (blockHash === undefined && outputRoot === undefined && !options.unsafe.trustSnapshot) {
    throw new UserError(
      "say which block the snapshot must be of: --block-hash (from a node or an explorer that you trust) or --output-root (as posted on L1), or --trust-snapshot to believe the file",
    );
  }
  if (!isUrl(from) && !existsSync(from)) throw new UserError(`--from: ${from}: no such file`);
  const spec = await loadChainSpec({ chain, registry });
  const expected = { config: spec.config, genesisHash: await genesisHashOf(spec), blockHash, outputRoot };
  makeFolder(datadir);
  const store = openDatabase(datadir);
  try {
    const head = store.head();
    if (head !== undefined)
      throw new UserError(`${datadir}: the database has a chain already, up to block ${head.number}; name an empty folder`);
    const file = isUrl(from) ? await downloaded(from, join(datadir, PARTIAL_FILE), { expected, maxBytes }, io) : from;
    await restore(file, { store, spec, expected, datadir, json }, io);
    if (file !== from) rmSync(file, { force: true });
    return 0;
  } finally {
    await store.close();
  }
});

interface Target {
  readonly store: ReturnType<typeof openDatabase>;
  readonly spec: ChainSpec;
  readonly expected: SnapshotExpectation;
  readonly datadir: string;
  readonly json: boolean;
}

async function restore(file: string, { store, spec, expected, datadir, json }: Target, io: CommandIo): Promise<void> {
  const loaded = await loadSnapshot(file, expected, { folder: datadir, onProgress: percent(io, "checking") }).catch(
    (error: unknown) => {
      // Another download may bring another file; this one would only be refused again.
      if (isUseless(error) && file.endsWith(PARTIAL_FILE)) rmSync(file, { force: true });
      throw error;
    },
  );
  try {
    if (expected.blockHash === undefined && expected.outputRoot === undefined) {
      io.err(
        `nothing but the file itself says that ${bytesToHex(loaded.manifest.hash)} is block ${loaded.manifest.header.number} of the chain`,
      );
    }
    noteReach(io, loaded.reach);
    const startsAnew = restoreSnapshot(store, loaded, (rows) => io.progress(`writing: ${rows} rows and trie nodes`));
    if (startsAnew) io.err("an earlier attempt had been interrupted: what was there of it was removed");
    noteGenesis(store, spec);
    printSnapshot(io, loaded, json);
  } finally {
    loaded.close();
  }
}
