import { fetchOptions } from "@rnode/networks";
import { bytesToHex, equalBytes } from "@rnode/primitives";
import { command, hash, optionGroup, optionTable, path, text, UserError } from "@rnode/program";
import { genesisOfSpec, INTERRUPTED_GENESIS, loadChainSpec, writeGenesis } from "../setup/chain-spec.ts";
import { openDatabase } from "../setup/database.ts";
import { fetchReportsTo } from "../setup/fetch-reports.ts";
import { state } from "../setup/history-option.ts";
import { VERSION } from "../version.ts";

const table = optionTable({
  program: "rengine init",
  summary: "Writes the genesis block and its state into a new database.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      chain: { parse: text, required: true, help: "Genesis file (JSON, also with gzip or Zstandard), or the name of a network." },
      genesis: {
        parse: text,
        help: "File or URL with the allocations of a named network, also as the superchain registry has it (.json.zst).",
      },
      genesisHash: {
        parse: hash,
        env: false,
        help: "Hash that the genesis block must have, for a file or URL that is not of a named network.",
      },
      datadir: { parse: path, required: true, help: "Folder of the database." },
      ...fetchOptions("the genesis of a named network"),
    }),
    state,
  },
});

/** `rengine init`: prints `genesis 0x<block hash> state 0x<state root>`. */
export const init = command({ table, version: VERSION }, async ({ options }, io) => {
  const { chain, genesis: source, genesisHash, datadir, registry, offline } = options.main;
  const spec = await loadChainSpec({ chain, genesis: source, datadir, registry });
  const genesis = await genesisOfSpec(spec, datadir, { datadir, registry, offline, ...fetchReportsTo(io) });
  if (genesisHash !== undefined && !equalBytes(genesis.hash, genesisHash)) {
    genesis.state.close();
    throw new UserError(
      `the genesis file gives block ${bytesToHex(genesis.hash)}, but --genesis-hash says ${bytesToHex(genesisHash)}`,
    );
  }
  const store = openDatabase(datadir, options.state);
  try {
    if (writeGenesis(store, spec, genesis) === "again") io.err(INTERRUPTED_GENESIS);
  } finally {
    await store.close();
  }
  io.out(`genesis ${bytesToHex(genesis.hash)} state ${bytesToHex(genesis.block.header.stateRoot)}`);
  return 0;
});
