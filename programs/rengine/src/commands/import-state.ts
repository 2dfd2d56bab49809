import { performance } from "node:perf_hooks";
import { GenesisState, initGenesis } from "@rnode/chain";
import { fetchOptions } from "@rnode/networks";
import { bytesToHex, EMPTY_TRIE_ROOT, equalBytes, hexToBytes } from "@rnode/primitives";
import {
  bool,
  type CommandIo,
  command,
  hash,
  httpUrl,
  makeFolder,
  optionGroup,
  optionTable,
  path,
  text,
  textOf,
  UserError,
} from "@rnode/program";
import { type Block, hashHeader, PREDEPLOYS } from "@rnode/protocol";
import { type BlockRecord, collectLastBlocks, type LastBlocks, restoreSnapshot } from "@rnode/snapshot";
import type { ChainDatabase, GenesisRows } from "@rnode/storage";
import { endpointBlocks } from "../import-state/endpoint-blocks.ts";
import type { StateCounts } from "../import-state/state-lines.ts";
import { openStateSource, type StateSource } from "../import-state/state-source.ts";
import { type ChainSpec, genesisOfSpec, loadChainSpec, noteGenesis } from "../setup/chain-spec.ts";
import { openDatabase } from "../setup/database.ts";
import { fetchReportsTo } from "../setup/fetch-reports.ts";
import { state } from "../setup/history-option.ts";
import type { GenesisFetch } from "../setup/published-genesis.ts";
import { VERSION } from "../version.ts";
import { chainOptions, noteReach } from "./snapshot-shared.ts";

const table = optionTable({
  program: "rengine import-state",
  summary: "Makes a database from the state of another client, after its state root was computed and compared with the block's.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      chain: chainOptions.chain,
      genesis: {
        parse: text,
        help: "File or URL with the allocations of a named network, also as the superchain registry has it (.json.zst).",
      },
      datadir: { parse: path, required: true, help: "Folder of the new database." },
      from: {
        parse: textOf("folder|file|-", "a folder, a file, or - for the standard input"),
        required: true,
        env: false,
        help: 'The state: the data directory of a stopped op-reth, which is only read, or lines of JSON as op-reth init-state takes them, also with gzip. "-" reads such lines from the standard input, for example of zstd -dc.',
      },
      blocks: {
        parse: httpUrl,
        required: true,
        env: false,
        help: "An execution client of the chain, which is asked for the block of the state and for those before it that a rollup node reads when it starts. What it gives is checked.",
      },
      blockHash: {
        parse: hash,
        env: false,
        help: "Hash of the block that the state is after, from somebody you trust. Default: the head of op-reth's data directory; otherwise that of the network, if its first block has a state of another client (OP Mainnet: Bedrock).",
      },
      json: { parse: bool, default: false, env: false, help: "Print the result as JSON." },
      ...fetchOptions("the genesis of a named network"),
    }),
    state,
  },
});

/** `rengine import-state`: prints the block. The folder holds no chain until the last step; a run that was interrupted is repeated. */
export const importState = command({ table, version: VERSION }, async ({ options }, io) => {
  const { chain, genesis: genesisSource, datadir, from, blocks: url, json, registry, offline } = options.main;
  const spec = await loadChainSpec({ chain, genesis: genesisSource, datadir, registry });
  const source = openStateSource(from);
  const endpoint = endpointBlocks(url);
  let store: ChainDatabase | undefined;
  try {
    const blockHash = blockHashOf(spec, source, options.main.blockHash, io);
    makeFolder(datadir);
    store = openDatabase(datadir, options.state);
    const head = store.head();
    if (head !== undefined)
      throw new UserError(`${datadir}: the database has a chain already, up to block ${head.number}; name an empty folder`);
    const fetch: GenesisFetch = { datadir, registry, offline, ...fetchReportsTo(io) };
    const target = await targetOf(spec, { blockHash, folder: datadir, fetch, blockOf: endpoint.blockOf }, io);
    try {
      const startMs = performance.now();
      const counts = await importInto(store, target, { source, datadir }, io);
      noteGenesis(store, spec);
      const { number, stateRoot } = target.block.header;
      const seconds = (performance.now() - startMs) / 1000;
      const facts = { number, hash: bytesToHex(blockHash), stateRoot: bytesToHex(stateRoot), ...counts };
      if (json) io.out(JSON.stringify(facts));
      else {
        const rate = Math.round((counts.accounts + counts.slots) / seconds);
        io.out(
          `block ${number} ${facts.hash} state ${facts.stateRoot} accounts ${counts.accounts} slots ${counts.slots}, ${rate} rows a second`,
        );
      }
    } finally {
      target.lastBlocks?.close();
    }
    return 0;
  } finally {
    source.close();
    await endpoint.close();
    await store?.close();
  }
});

/** The network's first block is not block 0: its state is that of another client. */
const startsLater = ({ network }: ChainSpec): boolean => (network?.genesis.l2.number ?? 0) > 0;

function blockHashOf(spec: ChainSpec, source: StateSource, given: Uint8Array | undefined, io: CommandIo): Uint8Array {
  const own = source.blockHash;
  if (given !== undefined) {
    if (own === undefined || equalBytes(own, given)) return given;
    throw new UserError(
      `--from: ${source.name} has the state after block ${bytesToHex(own)}, and --block-hash says ${bytesToHex(given)}`,
    );
  }
  if (own !== undefined) {
    io.err(`nothing but ${source.name} itself says that ${bytesToHex(own)} is a block of the chain: --block-hash says so`);
    return own;
  }
  if (spec.network !== undefined && startsLater(spec)) return hexToBytes(spec.network.genesis.l2.hash);
  throw new UserError(
    "--block-hash is required: the hash of the block that the state is after, from a node or an explorer that you trust",
  );
}

/** The block that the state must be of. */
interface Target {
  readonly block: Block;
  readonly hash: Uint8Array;
  readonly genesis: { readonly block: Block; readonly hash: Uint8Array };
  /** undefined: it is the chain's first one */
  readonly lastBlocks: LastBlocks | undefined;
}

interface TargetSource {
  readonly blockHash: Uint8Array;
  readonly folder: string;
  readonly fetch: GenesisFetch;
  readonly blockOf: (hash: Uint8Array) => Promise<BlockRecord | undefined>;
}

async function targetOf(spec: ChainSpec, { blockHash: own, folder, fetch, blockOf }: TargetSource, io: CommandIo): Promise<Target> {
  const genesis = await firstBlockOf(spec, { folder, fetch, blockOf });
  if (equalBytes(own, genesis.hash)) return { block: genesis.block, hash: own, genesis, lastBlocks: undefined };
  const { config } = spec;
  const onProgress = (blocks: number): void => io.progress(`blocks: ${blocks}`);
  const lastBlocks = await collectLastBlocks({ config, genesis, hash: own, source: blockOf, folder, onProgress });
  noteReach(io, lastBlocks.reach);
  return { block: { header: lastBlocks.header, transactions: [], ommers: [] }, hash: own, genesis, lastBlocks };
}

async function firstBlockOf(
  spec: ChainSpec,
  { folder, fetch, blockOf }: Pick<TargetSource, "folder" | "fetch" | "blockOf">,
): Promise<{ readonly block: Block; readonly hash: Uint8Array }> {
  if (!startsLater(spec)) {
    const { block, hash: own, state } = await genesisOfSpec(spec, folder, fetch);
    state.close();
    return { block, hash: own };
  }
  const { name, genesis } = spec.network!;
  const own = hexToBytes(genesis.l2.hash);
  const block = (await blockOf(own))?.block;
  if (block === undefined) throw new UserError(`--blocks: the endpoint has no block ${genesis.l2.hash}, with which ${name} begins`);
  const got = hashHeader(block.header);
  if (!equalBytes(got, own) || !equalBytes(block.header.transactionsRoot, EMPTY_TRIE_ROOT) || block.transactions.length > 0) {
    throw new UserError(
      `--blocks: the endpoint gives another block as ${genesis.l2.hash}, with which ${name} begins: ${bytesToHex(got)}`,
    );
  }
  return { block, hash: own };
}

/** Reads the state, compares its root with the block's, and writes it. */
async function importInto(
  store: ChainDatabase,
  { block, hash: own, genesis, lastBlocks }: Target,
  { source, datadir }: { readonly source: StateSource; readonly datadir: string },
  io: CommandIo,
): Promise<StateCounts> {
  const state = new GenesisState({ folder: datadir });
  try {
    const onProgress = (counts: StateCounts): void => io.progress(`reading: ${describe(counts)}`);
    const { accounts, slots, root } = await source.readInto(state, { folder: datadir, onProgress });
    const { number, stateRoot } = block.header;
    if (root !== undefined && !equalBytes(root, stateRoot)) {
      throw new UserError(
        `${source.name}: it is the state ${bytesToHex(root)}, and that of block ${number} is ${bytesToHex(stateRoot)}`,
      );
    }
    io.progress("computing the state root");
    const sealed = state.seal(PREDEPLOYS.l2ToL1MessagePasser);
    if (!equalBytes(sealed.stateRoot, stateRoot)) {
      throw new UserError(
        `${source.name}: its ${describe({ accounts, slots })} have the state root ${bytesToHex(sealed.stateRoot)}, and that of block ${number} is ${bytesToHex(stateRoot)}: nothing was written`,
      );
    }
    const startsAnew = write(store, { state, block, hash: own, genesis, lastBlocks }, io);
    if (startsAnew) io.err("an earlier attempt had been interrupted: what was there of it was removed");
    return { accounts, slots };
  } finally {
    state.close();
  }
}

function write(
  store: ChainDatabase,
  { state, block, hash: own, genesis, lastBlocks }: Target & { readonly state: GenesisState },
  io: CommandIo,
): boolean {
  if (lastBlocks === undefined) return initGenesis(store, { block, hash: own, state }) === "again";
  const manifest = { genesis, header: block.header, hash: own, oldestBlock: lastBlocks.oldestBlock };
  const content = { manifest, blocks: () => lastBlocks.blocks(), rowsInto: (rows: GenesisRows) => state.rowsInto(rows) };
  return restoreSnapshot(store, content, (rows) => io.progress(`writing: ${rows} rows and trie nodes`));
}

const describe = ({ accounts, slots }: StateCounts): string => `${accounts} accounts and ${slots} slots`;
