import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { command, openForOthers, optionGroup, optionTable, path, UserError, uint } from "@rnode/program";
import { encodeBlock } from "@rnode/protocol";
import type { ChainStoreReader } from "@rnode/storage";
import { openExistingDatabase } from "../setup/database.ts";
import { VERSION } from "../version.ts";

const table = optionTable({
  program: "rengine export",
  summary: "Writes canonical blocks as a stream of RLP blocks.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      datadir: { parse: path, required: true, help: "Folder of the database." },
      from: { parse: uint, default: 0, env: false, unit: "block number", help: "First block." },
      to: { parse: uint, env: false, unit: "block number", help: "Last block; default: the head." },
    }),
  },
  positionals: { name: "FILE", min: 1, max: 1 },
});

/** `rengine export`: prints `exported <count> blocks to FILE`. */
export const exportBlocks = command({ table, version: VERSION }, async ({ options, positionals }, io) => {
  const { datadir, from, to } = options.main;
  const file = positionals[0]!;
  const store = openExistingDatabase(datadir, { readOnly: true, inOrder: true });
  try {
    const head = store.head();
    if (head === undefined) throw new UserError(`${datadir}: the database is empty`);
    const last = to ?? head.number;
    if (last > head.number) throw new UserError(`--to: block ${last} is above the head, ${head.number}`);
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
