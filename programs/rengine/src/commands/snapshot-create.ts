import { closeSync, fsyncSync, renameSync, rmSync, writeSync } from "node:fs";
import { storedGenesisHash } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import { bool, command, integerBetween, openForOthers, optionGroup, optionTable, path, textOf, UserError } from "@rnode/program";
import { createSnapshot, MIN_SNAPSHOT_BLOCKS } from "@rnode/snapshot";
import type { ChainDatabase } from "@rnode/storage";
import { loadChainSpec } from "../setup/chain-spec.ts";
import { openExistingDatabase } from "../setup/database.ts";
import { VERSION } from "../version.ts";
import { chainOptions, describeSnapshot, noteReach } from "./snapshot-shared.ts";

const table = optionTable({
  program: "rengine snapshot create",
  summary: "Writes the state after a block and the last blocks into one file, also while the client runs.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      ...chainOptions,
      datadir: { parse: path, required: true, help: "Folder of the database; a running client may be writing to it." },
      block: {
        parse: textOf("number|tag", "a block number, latest, safe or finalized"),
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
  },
  positionals: { name: "FILE", min: 1, max: 1 },
});

/** `rengine snapshot create`: prints the chain and block of the snapshot, and its checksum. */
export const createSnapshotFile = command({ table, version: VERSION }, async ({ options, positionals }, io) => {
  const { chain, registry, datadir, block, blocks, json } = options.main;
  const file = positionals[0]!;
  const { config, network } = await loadChainSpec({ chain, registry });
  const store = openExistingDatabase(datadir, { readOnly: true });
  const partial = `${file}.partial`;
  try {
    const genesisHash = storedGenesisHash(store);
    if (genesisHash === undefined) throw new UserError(`${datadir}: the database is empty`);
    if (network !== undefined && network.genesis.l2.hash !== bytesToHex(genesisHash)) {
      throw new UserError(
        `the database begins with block ${bytesToHex(genesisHash)}, but ${chain} begins with ${network.genesis.l2.hash}`,
      );
    }
    const output = openForOthers(partial);
    const made = await createSnapshot(
      store,
      {
        config,
        genesisHash,
        blockNumber: block === undefined ? undefined : blockNumberOf(store, block),
        blocks,
        onProgress: ({ accounts, slots, doneRatio }) =>
          io.progress(`${Math.floor(100 * doneRatio)} %, ${accounts} accounts, ${slots} slots`),
      },
      async (bytes) => {
        for (let done = 0; done < bytes.length; ) done += writeSync(output, bytes, done);
      },
    ).finally(() => {
      fsyncSync(output);
      closeSync(output);
    });
    renameSync(partial, file);
    const { number, hash } = made.block;
    const facts = { ...made, number, hash, stateRoot: bytesToHex(made.stateRoot), checksum: bytesToHex(made.checksum) };
    const { block: _, ...plain } = facts;
    noteReach(io, made.reach);
    io.out(json ? JSON.stringify(plain) : `${describeSnapshot(facts)} bytes ${made.fileBytes}`);
    return 0;
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  } finally {
    await store.close();
  }
});

function blockNumberOf(store: ChainDatabase, block: string): number {
  if (/^\d+$/.test(block)) return Number(block);
  const found = block === "latest" ? store.head() : block === "safe" || block === "finalized" ? store.label(block) : undefined;
  if (found !== undefined) return found.number;
  if (block === "safe" || block === "finalized") throw new UserError(`--block: the database has no ${block} block yet`);
  throw new UserError(`--block: "${block}" is neither a block number nor latest, safe or finalized`);
}
