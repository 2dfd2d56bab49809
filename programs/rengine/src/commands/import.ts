import { stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { type Chain, createSenderCache, describeImportRefusal, type ImportOptions, ImportPruning, openChain } from "@rnode/chain";
import { fetchOptions } from "@rnode/networks";
import { type CommandIo, command, optionGroup, optionTable, path, text, UserError, uint } from "@rnode/program";
import type { Header } from "@rnode/protocol";
import { INTERRUPTED_GENESIS, loadChainSpec, prepareGenesis } from "../setup/chain-spec.ts";
import { openDatabase, sayPageReading } from "../setup/database.ts";
import { fetchReportsTo } from "../setup/fetch-reports.ts";
import { history, historyBlocksOf, proofs, state } from "../setup/history-option.ts";
import { lastBlockOf } from "../setup/last-block.ts";
import { readBlocks } from "../setup/read-blocks.ts";
import { VERSION } from "../version.ts";

const table = optionTable({
  program: "rengine import",
  summary: "Executes and stores a stream of RLP blocks.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      chain: { parse: text, required: true, help: "Genesis file (JSON, also gzipped), or the name of a network." },
      genesis: { parse: text, help: "File or URL with the allocations of a named network." },
      datadir: { parse: path, required: true, help: "Folder of the database; made when missing." },
      ...fetchOptions("the genesis of a named network"),
      batch: {
        parse: uint,
        default: 32,
        unit: "blocks",
        env: false,
        help: "Blocks written in one transaction; up to 2,048 below the proof window.",
      },
    }),
    history,
    proofs,
    state,
    rollup: optionGroup("rollup", {
      upgradesDir: { parse: path, help: "Folder of network upgrade bundles (Canyon's first block needs one)." },
    }),
  },
  positionals: { name: "BLOCKS.rlp…", min: 1, max: Number.MAX_SAFE_INTEGER },
});

/**
 * `rengine import`: prints the new head as `head <number> 0x<hash>`. A block that breaks a rule ends the import; the blocks before it
 * remain. The last block of the files is trusted, so of blocks below its proof window, state roots are compared after each run only.
 */
export const importBlocks = command({ table, version: VERSION }, async ({ options, positionals }, io) => {
  const { chain: name, genesis, datadir, batch, registry, offline } = options.main;
  const spec = await loadChainSpec({ chain: name, genesis, datadir, registry });
  const senders = createSenderCache({ workers: Math.max(1, availableParallelism() - 1) });
  const store = openDatabase(datadir, { proofWindowBlocks: options.proofs.window, ...options.state });
  sayPageReading(store, io);
  try {
    if ((await prepareGenesis(store, spec, { datadir, registry, offline, ...fetchReportsTo(io) })) === "again")
      io.err(INTERRUPTED_GENESIS);
    const chain = openChain(
      { store, config: spec.config, senders, nowMs: () => performance.now() },
      { upgradesDir: options.rollup.upgradesDir },
    );
    const keepBlocks = historyBlocksOf(options.history);
    const pruning = keepBlocks === undefined ? undefined : new ImportPruning(keepBlocks, store);
    const lastBlocks = await Promise.all(positionals.map(lastBlockOf));
    const trustedHead = lastBlocks.includes(undefined) ? undefined : Math.max(...(lastBlocks as number[]));
    for (const file of positionals) await importFile(chain, file, { groupBlocks: Math.max(1, batch), trustedHead }, pruning, io);
    pruning?.finish((remaining) => io.progress(`removing old history, ${remaining} blocks to go`));
    const head = chain.head();
    io.out(`head ${head.number} ${head.hash}`);
    return 0;
  } finally {
    await senders.close();
    await store.close();
  }
});

async function importFile(
  chain: Chain,
  file: string,
  options: Pick<ImportOptions<never>, "groupBlocks" | "trustedHead">,
  pruning: ImportPruning | undefined,
  io: CommandIo,
): Promise<void> {
  const progress = new ImportProgress(file, (await stat(file)).size, io);
  const blocks = readBlocks(file);
  const refusal = await chain.import(pruning === undefined ? blocks : withSteps(blocks, pruning), {
    ...options,
    onStored: ({ header, fileOffset }) => progress.advance(header, fileOffset),
  });
  if (refusal !== undefined) throw new UserError(`${file}: ${describeImportRefusal(refusal)}`);
}

/** The same blocks, with a step of pruning after each. */
async function* withSteps<T>(blocks: AsyncIterable<T>, pruning: ImportPruning): AsyncGenerator<T> {
  for await (const block of blocks) {
    yield block;
    pruning.step();
  }
}

const PROGRESS_INTERVAL_MS = 200;
const BAR_WIDTH = 30;

class ImportProgress {
  readonly #file: string;
  readonly #totalBytes: number;
  readonly #io: CommandIo;
  readonly #startMs = performance.now();
  #shownMs = 0;
  #blocks = 0;
  #gas = 0n;

  constructor(file: string, totalBytes: number, io: CommandIo) {
    this.#file = file;
    this.#totalBytes = totalBytes;
    this.#io = io;
  }

  advance({ number, gasUsed }: Header, offset: number): void {
    this.#blocks++;
    this.#gas += gasUsed;
    const nowMs = performance.now();
    if (nowMs - this.#shownMs < PROGRESS_INTERVAL_MS) return;
    this.#shownMs = nowMs;
    const seconds = (nowMs - this.#startMs) / 1000;
    const done = Math.round((offset / this.#totalBytes) * BAR_WIDTH);
    const bar = "█".repeat(done) + "░".repeat(BAR_WIDTH - done);
    const rate = `${(this.#blocks / seconds).toFixed(0)} blocks/s, ${(Number(this.#gas) / 1e6 / seconds).toFixed(1)} Mgas/s`;
    this.#io.progress(`${this.#file} ${bar} block ${number}, ${rate}`);
  }
}
