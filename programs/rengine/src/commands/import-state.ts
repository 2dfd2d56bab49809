import { performance } from "node:perf_hooks";
import { fetchOptions } from "@rnode/networks";
import { bytesToHex, equalBytes } from "@rnode/primitives";
import {
  bool,
  type CommandIo,
  command,
  hash,
  makeFolder,
  optionGroup,
  optionTable,
  path,
  text,
  textOf,
  UserError,
} from "@rnode/program";
import type { ChainDatabase } from "@rnode/storage";
import { noteOlderBlocks } from "../history/older-blocks-note.ts";
import type { Blocks, FirstBlock } from "../import-state/block-source.ts";
import { checkDisk } from "../import-state/disk-need.ts";
import { openBlocks } from "../import-state/open-blocks.ts";
import { openStateSource } from "../import-state/open-source.ts";
import type { StateSource } from "../import-state/state-source.ts";
import { findTarget } from "../import-state/target.ts";
import { blockHashOf, blockOfOutputRoot } from "../import-state/trusted-block.ts";
import { writeState } from "../import-state/write-state.ts";
import { loadChainSpec, noteGenesis } from "../setup/chain-spec.ts";
import { databasePath, openDatabase } from "../setup/database.ts";
import { fetchReportsTo } from "../setup/fetch-reports.ts";
import { state } from "../setup/history-option.ts";
import type { GenesisFetch } from "../setup/published-genesis.ts";
import { VERSION } from "../version.ts";
import { restoreFromSnapshot } from "./snapshot-restore.ts";
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
        parse: textOf("folder|file|url|enode|-", "a folder, a file, a URL, enode:// addresses, or - for the standard input"),
        required: true,
        env: false,
        help: 'The state: the data directory of a stopped op-reth, which is only read; a published archive of one (.tar.zst, .tar.lz4), or the manifest.json of several; lines of JSON as op-reth init-state takes them, also with gzip, Zstandard or LZ4; a snapshot of rengine; or running nodes of the chain that serve recent states (snap/1), comma-separated enode:// addresses. "-" reads such lines from the standard input.',
      },
      blocks: {
        parse: textOf("url|file", "a URL or a file"),
        env: false,
        help: "Where the block of the state is from, and those before it that a rollup node reads when it starts: an execution client of the chain, or a file of RLP blocks (rengine export), which has no receipts. What it gives is checked. Default with peers as --from: these, without receipts. Not needed for the state with which OP Mainnet begins.",
      },
      blockHash: {
        parse: hash,
        env: false,
        help: "Hash of the block that the state is after, from somebody you trust. Default: the head of op-reth's data directory; of lines of JSON, the block of --blocks that has the --output-root, from Isthmus on; otherwise that of the network, if its first block has a state of another client (OP Mainnet: Bedrock).",
      },
      outputRoot: {
        parse: hash,
        env: false,
        help: "Output root of that block as it was posted on L1; commits to its hash and its state.",
      },
      history: {
        parse: bool,
        default: false,
        env: false,
        help: "All older blocks and receipts from --blocks, too: rengine fetches and checks them in the background while it serves.",
      },
      json: { parse: bool, default: false, env: false, help: "Print the result as JSON." },
      ...fetchOptions("the genesis of a named network"),
    }),
    state,
  },
});

/** `rengine import-state`: prints the block. The folder holds no chain until the last step; a run that was interrupted goes on. */
export const importState = command({ table, version: VERSION }, async ({ options }, io) => {
  const {
    chain,
    genesis: genesisSource,
    datadir,
    from,
    blocks: blocksFrom,
    json,
    registry,
    offline,
    outputRoot,
    history,
  } = options.main;
  if (history && blocksFrom === undefined) throw new UserError("--history is of no effect without --blocks");
  const spec = await loadChainSpec({ chain, genesis: genesisSource, datadir, registry });
  const firstBlock = spec.network?.genesis.l2.number ?? spec.genesis?.head.header.number ?? 0;
  const opened = await openStateSource(from, { datadir, chainId: spec.config.chainId, firstBlock: Number(firstBlock) }, io);
  if (opened === "snapshot") return await restoreSnapshot(options.main, io);
  const source = opened;
  let blocks: Blocks | undefined;
  let store: ChainDatabase | undefined;
  try {
    const knownHash = blockHashOf(spec, source, options.main, io);
    makeFolder(datadir);
    store = openDatabase(datadir, options.state);
    const head = store.head();
    if (head !== undefined)
      throw new UserError(`${datadir}: the database has a chain already, up to block ${head.number}; name an empty folder`);
    checkDisk(source, { folder: datadir, database: databasePath(datadir) }, io);
    blocks = blocksFrom === undefined ? undefined : await openBlocks(blocksFrom, datadir, io);
    const blockHash = knownHash ?? (await blockOfOutputRoot(blocks, outputRoot!));
    const fetch: GenesisFetch = { datadir, registry, offline, ...fetchReportsTo(io) };
    const onFirstBlock = async (first: FirstBlock): Promise<void> => {
      assertSameChain(source, first);
      if (source.kind === "peers") await source.join(spec.config, first);
    };
    const ofPeers = source.kind === "peers" ? source.blocks : undefined;
    const wanted = { blockHash, folder: datadir, fetch, blocks: blocks ?? ofPeers, onFirstBlock };
    const target = await findTarget(spec, wanted, io);
    try {
      if (target.lastBlocks !== undefined) {
        noteReach(io, target.lastBlocks.reach);
        if (!target.lastBlocks.hasReceipts) io.err(withoutReceipts(blocksFrom));
      }
      const startMs = performance.now();
      const counts = await writeState(
        store,
        source,
        target,
        { folder: datadir, outputRoot, preimages: options.state.preimages },
        io,
      );
      noteGenesis(store, spec);
      source.discard();
      if (history && blocksFrom !== undefined) {
        noteOlderBlocks(store, blocksFrom);
        io.err(`rengine fetches older blocks from ${blocksFrom} when it runs with this --datadir`);
      }
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
    await source.close();
    await blocks?.close();
    await store?.close();
  }
});

/** Receipts cannot be computed either, because the states before these blocks are not there. */
const withoutReceipts = (blocksFrom: string | undefined): string =>
  `${blocksFrom ?? "the peers"}: blocks without their receipts: requests for these are answered with "pruned history unavailable". An execution client as --blocks has them`;

/** Has `rengine snapshot restore` take a snapshot of rengine. */
async function restoreSnapshot(options: SnapshotOptions, io: CommandIo): Promise<number> {
  const { chain, registry, datadir, from, blockHash, outputRoot, json } = options;
  const values = {
    chain,
    registry,
    datadir,
    from,
    "block-hash": blockHash && bytesToHex(blockHash),
    "output-root": outputRoot && bytesToHex(outputRoot),
  };
  const args = Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]));
  return await restoreFromSnapshot(json ? [...args, "--json"] : args, {}, io);
}

interface SnapshotOptions {
  readonly chain: string;
  readonly registry?: string | undefined;
  readonly datadir: string;
  readonly from: string;
  readonly blockHash?: Uint8Array | undefined;
  readonly outputRoot?: Uint8Array | undefined;
  readonly json: boolean;
}

/** @throws {UserError} if the source has another block in place of the chain's first one */
function assertSameChain(source: StateSource, { block, hash }: FirstBlock): void {
  const { number } = block.header;
  const found = source.kind === "sorted" ? source.hashOf(number) : undefined;
  if (found === undefined || equalBytes(found, hash)) return;
  throw new UserError(
    `--from: ${source.name} is of another chain: its block ${number} is ${bytesToHex(found)}, and that of --chain is ${bytesToHex(hash)}`,
  );
}
