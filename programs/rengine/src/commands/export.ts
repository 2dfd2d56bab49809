import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  bool,
  command,
  integerBetween,
  listOf,
  oneOf,
  openForOthers,
  optionGroup,
  optionTable,
  path,
  UserError,
  uint,
} from "@rnode/program";
import { encodeBlock } from "@rnode/protocol";
import type { ChainStoreReader } from "@rnode/storage";
import { TABLES } from "../export/columns.ts";
import { FORMATS } from "../export/table-file.ts";
import { blockNumberOf, numberOrTag } from "../setup/block-option.ts";
import { openExistingDatabase } from "../setup/database.ts";
import { VERSION } from "../version.ts";
import { exportTables } from "./export-tables.ts";
import { chainOptions } from "./snapshot-shared.ts";

const forTables = { env: false, needs: "format", isMistakeAlone: true } as const;

const table = optionTable({
  program: "rengine export",
  summary:
    "Writes canonical blocks as a stream of RLP blocks, or tables for analysis as Parquet or JSON; also while the client runs.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      datadir: { parse: path, required: true, help: "Folder of the database; a running client may be writing to it." },
      from: {
        parse: uint,
        env: false,
        unit: "block number",
        help: "First block. Default: 0, or the block after the last one that a folder of tables has.",
      },
      to: { parse: numberOrTag, env: false, help: "Last block: a number, latest, safe or finalized. Default: latest." },
      format: {
        parse: oneOf(...FORMATS),
        env: false,
        help: "Write tables into the folder FILE, and resume an earlier export into it. Default: one file of RLP blocks.",
      },
      tables: {
        parse: listOf(oneOf(...TABLES)),
        ...forTables,
        help: `Tables to write. Traces execute all blocks again, on states that a pruned database lacks. Default: ${TABLES.slice(0, -1).join(",")}.`,
      },
      blocksPerFile: {
        parse: integerBetween(1, 1_000_000),
        ...forTables,
        unit: "blocks",
        help: "Blocks in each file of a table; files begin at its multiples. Default: 1000.",
      },
      rewind: {
        parse: bool,
        default: false,
        ...forTables,
        help: "Remove files with blocks that a reorganisation has replaced, and export those blocks again. Default: stop, and name the blocks.",
      },
      chain: { ...chainOptions.chain, required: false, ...forTables },
      registry: { ...chainOptions.registry, ...forTables },
    }),
    rollup: optionGroup("rollup", {
      upgradesDir: {
        parse: path,
        ...forTables,
        help: "Folder of network upgrade bundles (traces of Canyon's first block need one).",
      },
    }),
  },
  positionals: { name: "FILE", min: 1, max: 1 },
});

/** `rengine export`: prints `exported <count> blocks to FILE`. */
export const exportBlocks = command({ table, version: VERSION }, async ({ options, positionals }, io) => {
  const { datadir, format, ...main } = options.main;
  const file = positionals[0]!;
  const store = openExistingDatabase(datadir, { readOnly: true, inOrder: true });
  try {
    const head = store.head();
    if (head === undefined) throw new UserError(`${datadir}: the database is empty`);
    const last = main.to === undefined ? head.number : blockNumberOf(store, "--to", main.to);
    if (last > head.number) throw new UserError(`--to: block ${last} is above the head, ${head.number}`);
    if (format !== undefined) {
      const count = await exportTables(store, file, { ...main, ...options.rollup, format, last }, io);
      io.out(`exported ${count} blocks to ${file}`);
      return 0;
    }
    const from = main.from ?? 0;
    if (from > last) throw new UserError(`--from: ${from} is above the last block to export, ${last}`);
    await pipeline(Readable.from(encodedBlocks(store, from, last)), createWriteStream(file, { fd: openForOthers(file) }));
    io.out(`exported ${last - from + 1} blocks to ${file}`);
    return 0;
  } finally {
    await store.close();
  }
});

function* encodedBlocks(store: ChainStoreReader, from: number, last: number): Generator<Uint8Array> {
  for (let number = from; number <= last; number++) {
    const hash = store.readCanonicalHash(number);
    const block = hash && store.readBlock(hash);
    if (block === undefined) throw new UserError(`block ${number} is not in the database`);
    yield encodeBlock(block);
  }
}
