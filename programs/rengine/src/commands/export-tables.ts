import { storedGenesisHash } from "@rnode/chain";
import { bytesToHex, equalBytes } from "@rnode/primitives";
import { type CommandIo, UserError } from "@rnode/program";
import type { ChainStoreReader } from "@rnode/storage";
import { checkHistory, hashAt, newBlockSource } from "../export/block-source.ts";
import { TABLES, type Table } from "../export/columns.ts";
import { ExportFolder } from "../export/export-folder.ts";
import { exportRanges, firstReplaced } from "../export/export-run.ts";
import type { Format } from "../export/table-file.ts";
import { genesisHashOf, loadChainSpec } from "../setup/chain-spec.ts";

const DEFAULT_BLOCKS_PER_FILE = 1000;

export interface TablesOptions {
  readonly chain: string | undefined;
  readonly registry: string | undefined;
  readonly format: Format;
  readonly tables: readonly Table[] | undefined;
  readonly blocksPerFile: number | undefined;
  readonly rewind: boolean;
  readonly from: number | undefined;
  readonly last: number;
  readonly upgradesDir: string | undefined;
}

/** `rengine export --format=…`. @returns the number of blocks that this run exported */
export async function exportTables(store: ChainStoreReader, path: string, options: TablesOptions, io: CommandIo): Promise<number> {
  const { format, last, upgradesDir, blocksPerFile = DEFAULT_BLOCKS_PER_FILE } = options;
  if (options.chain === undefined) throw new UserError("--format needs --chain, which says the rules of each block");
  const spec = await loadChainSpec({ chain: options.chain, registry: options.registry });
  const genesisHash = storedGenesisHash(store)!;
  const expected = await genesisHashOf(spec);
  if (expected !== undefined && !equalBytes(expected, genesisHash)) {
    throw new UserError(
      `the database begins with block ${bytesToHex(genesisHash)}, but ${options.chain} with ${bytesToHex(expected)}`,
    );
  }
  const tables = TABLES.filter((table) => (options.tables ?? TABLES.slice(0, -1)).includes(table));
  const subject = { chain_id: Number(spec.config.chainId), genesis_hash: bytesToHex(genesisHash), format, tables };
  const folder = new ExportFolder(path, subject);
  dropReplaced(folder, store, options.rewind, io);
  const from = nextBlock(folder, options.from);
  if (from > last) return 0;
  const withTraces = tables.includes("traces");
  checkHistory(store, from, withTraces);
  const source = newBlockSource(store, spec.config, { withTraces, upgradesDir });
  const onProgress = (number: number): void => io.progress(`block ${number} of ${last}`);
  await exportRanges(folder, source, { subject, from, to: last, blocksPerFile, onProgress });
  return last - from + 1;
}

/** @throws {UserError} blocks were replaced, and must not be removed */
function dropReplaced(folder: ExportFolder, store: ChainStoreReader, mayRemove: boolean, io: CommandIo): void {
  const { ranges } = folder;
  const count = firstReplaced(ranges, (number) => hashAt(store, number));
  const first = ranges[count];
  const { to, hash } = ranges.at(-1) ?? {};
  if (first === undefined) return;
  const what = `a reorganisation has replaced block ${to} ${hash}, which was exported, by ${hashAt(store, to!) ?? "none yet"}`;
  if (!mayRemove)
    throw new UserError(`${what}: the files from block ${first.from} on are wrong; run again with --rewind to replace them`);
  io.err(`${what}: replacing the files from block ${first.from} on`);
  folder.keep(count);
}

function nextBlock({ ranges }: ExportFolder, from: number | undefined): number {
  const [first] = ranges;
  if (first === undefined) return from ?? 0;
  const next = ranges.at(-1)!.to + 1;
  if (from !== undefined && from !== first.from && from !== next) {
    throw new UserError(
      `--from: the folder has blocks ${first.from} to ${next - 1}; leave --from out to go on with ${next}, or name another folder`,
    );
  }
  return next;
}
