import { existsSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { bytesToHex } from "@rnode/primitives";
import { bool, type CommandIo, command, commandGroup, optionGroup, optionTable, path, UserError } from "@rnode/program";
import {
  compactDatabase,
  describePageReading,
  GROWTH_UNITS,
  type VerifyNotice,
  type VerifyProgress,
  type VerifyRestartReason,
} from "@rnode/storage";
import { databasePath, openExistingDatabase, sayPageReading } from "../setup/database.ts";
import { history, historyBlocksOf } from "../setup/history-option.ts";
import { VERSION } from "../version.ts";
import { tableCosts } from "./db-costs.ts";

const datadirOption = { parse: path, required: true, help: "Folder of the database." } as const;
const jsonOption = { parse: bool, default: false, env: false, help: "Print the result as JSON." } as const;

const PROGRESS_INTERVAL_MS = 200;

const statsTable = optionTable({
  program: "rengine db stats",
  summary: "Sizes of the database and its tables.",
  envPrefix: "RENGINE_",
  groups: { main: optionGroup("", { datadir: datadirOption, json: jsonOption }) },
});
const stats = command({ table: statsTable, version: VERSION }, async ({ options }, io) => {
  const store = openExistingDatabase(options.main.datadir, { readOnly: true });
  try {
    const statistics = store.storageStats();
    if (options.main.json) io.out(JSON.stringify({ ...statistics, costs: tableCosts(statistics) }));
    else {
      printStats(statistics, io);
      io.out(describePageReading(store.pageReading));
    }
    return 0;
  } finally {
    await store.close();
  }
});

const verifyTable = optionTable({
  program: "rengine db verify",
  summary:
    "Recomputes the state root of the head from the flat state. If it is interrupted, it goes on from there the next time, unless the database has changed.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      datadir: datadirOption,
      json: jsonOption,
      restart: { parse: bool, default: false, env: false, help: "Begin anew, whatever an interrupted verification left." },
    }),
  },
});
const verify = command({ table: verifyTable, version: VERSION }, async ({ options }, io) => {
  const store = openExistingDatabase(options.main.datadir, { readOnly: true });
  try {
    if (store.head() === undefined) throw new UserError(`${options.main.datadir}: the database is empty`);
    sayPageReading(store, io);
    const verified = store.verifyState({
      onProgress: verifyProgress(io),
      checkpoints: { restart: options.main.restart, onNotice: (notice) => io.err(describeNotice(notice)) },
    });
    const { block, problems } = verified;
    const stateRoot = bytesToHex(verified.stateRoot);
    if (options.main.json) {
      io.out(JSON.stringify({ ...verified, stateRoot, expectedStateRoot: bytesToHex(verified.expectedStateRoot) }));
    } else {
      io.out(
        `block ${block.number} ${block.hash} state ${stateRoot} accounts ${verified.accounts} slots ${verified.slots} codes ${verified.codes}`,
      );
      for (const problem of problems) io.err(problem);
      io.out(problems.length === 0 ? "verified" : `${problems.length} problems`);
    }
    return problems.length === 0 ? 0 : 1;
  } finally {
    await store.close();
  }
});

/** The pages that are known grow as they are read, so their share is not told. */
const describeProgress = ({ part, done, total }: VerifyProgress): string =>
  part === "pages" ? `${done} pages of the file` : `state ${Math.floor((100 * done) / Math.max(1, total))} %`;

const RESTART_REASONS: Readonly<Record<VerifyRestartReason, string>> = {
  wanted: "as --restart says",
  damaged: "what the interrupted verification left is damaged",
  version: "another version of this program was interrupted",
  head: "the interrupted verification was of another head",
  file: "the database was written or replaced since the verification was interrupted",
};

function describeNotice(notice: VerifyNotice): string {
  switch (notice.kind) {
    case "resumed":
      return `goes on where a verification was interrupted: ${describeProgress(notice)} (--restart begins anew)`;
    case "restarted":
      return `begins anew: ${RESTART_REASONS[notice.because]}`;
    case "no-checkpoint":
      return `where this verification is cannot be noted for one that goes on after an interruption: ${notice.reason}`;
  }
}

const verifyProgress = (io: CommandIo) => {
  let shownMs = performance.now();
  return (progress: VerifyProgress): void => {
    const nowMs = performance.now();
    if (nowMs - shownMs < PROGRESS_INTERVAL_MS) return;
    shownMs = nowMs;
    io.progress(describeProgress(progress));
  };
};

const pruneTable = optionTable({
  program: "rengine db prune",
  summary: "Removes old history while no client runs, faster than a running client does it beside its blocks.",
  envPrefix: "RENGINE_",
  groups: { main: optionGroup("", { datadir: { parse: path, required: true, help: "Folder of the database." } }), history },
});

/** Rows per commit: some tens of milliseconds of work, so that progress is visible and a signal is handled soon. */
const ROWS_PER_COMMIT = 20_000;

const prune = command({ table: pruneTable, version: VERSION }, async ({ options }, io) => {
  const keepBlocks = historyBlocksOf(options.history);
  if (keepBlocks === undefined) throw new UserError("--history.blocks or --full says how much history stays");
  const store = openExistingDatabase(options.main.datadir, { readOnly: false });
  try {
    if (store.head() === undefined) throw new UserError(`${options.main.datadir}: the database is empty`);
    sayPageReading(store, io);
    const before = store.storageStats().prunedRowsUpTo;
    let rows = 0;
    for (;;) {
      const { removedRows, remainingBlocks, heldBack } = store.pruneHistory(keepBlocks, ROWS_PER_COMMIT);
      rows += removedRows;
      const { prunedRowsUpTo, retained } = store.storageStats();
      if (remainingBlocks > 0) {
        const removedBlocks = prunedRowsUpTo - before;
        const percent = Math.floor((100 * removedBlocks) / (removedBlocks + remainingBlocks));
        io.progress(`${percent} %, ${rows} rows, up to block ${prunedRowsUpTo}, ${remainingBlocks} blocks to go`);
        continue;
      }
      io.out(`removed ${rows} rows of ${prunedRowsUpTo - before} blocks`);
      io.out(`state from block ${retained!.oldestState} on, receipts and logs from block ${retained!.oldestReceipts} on`);
      if (heldBack > 0) io.out(`${heldBack} more blocks are old enough, but not final`);
      return 0;
    }
  } finally {
    await store.close();
  }
});

const compactTable = optionTable({
  program: "rengine db compact",
  summary:
    "Writes the database without its free pages into a new file, which then takes the place of the old one, while no client runs. Both need room until then.",
  envPrefix: "RENGINE_",
  groups: { main: optionGroup("", { datadir: { parse: path, required: true, help: "Folder of the database." } }) },
});

const compact = command({ table: compactTable, version: VERSION }, async ({ options }, io) => {
  const folder = databasePath(options.main.datadir);
  if (!existsSync(folder)) throw new UserError(`${options.main.datadir}: holds no chain database (rengine init makes one)`);
  const { beforeBytes, afterBytes } = await compactDatabase(folder, {
    onProgress: (written, expected) => io.progress(`${megabytes(written)} of about ${megabytes(expected)}`),
  });
  io.out(`${megabytes(beforeBytes)} before, ${megabytes(afterBytes)} now`);
  return 0;
});

/** `rengine db stats|verify|prune|compact`. */
export const db = commandGroup(
  { name: "rengine db", summary: "Looks after a database: its sizes, its state, its old history." },
  {
    stats: async () => stats,
    verify: async () => verify,
    prune: async () => prune,
    compact: async () => compact,
  },
);

type Statistics = ReturnType<ReturnType<typeof openExistingDatabase>["storageStats"]>;

function printStats(statistics: Statistics, io: CommandIo): void {
  const { head, firstBlock, retained, prunedRowsUpTo } = statistics;
  io.out(`folder ${statistics.folder}`);
  io.out(`format ${statistics.format}`);
  io.out(head === undefined ? "head none" : `head ${head.number} ${head.hash}`);
  io.out(`first block ${firstBlock ?? "none"}, oldest block with proofs ${retained?.oldestProof ?? "none"}`);
  if (retained !== undefined && retained.oldestBlock > retained.firstBlock) {
    io.out(`restored from a snapshot: headers and bodies of blocks ${retained.oldestBlock} and above`);
  }
  if (retained !== undefined && retained.oldestState > retained.firstBlock) {
    io.out(
      `pruned: state from block ${retained.oldestState} on, receipts, senders and logs from block ${retained.oldestReceipts} on`,
    );
    io.out(
      `removed: states, receipts, senders, logs and transaction places of blocks ${retained.firstBlock + 1} to ${prunedRowsUpTo}`,
    );
    const pending = retained.oldestState - prunedRowsUpTo;
    if (pending > 0) io.out(`being removed: those of ${pending} blocks more (rengine db prune, or the running client)`);
  }
  io.out(`file ${megabytes(statistics.fileBytes)}, free inside ${megabytes(statistics.freeBytes)}`);
  const heads = ["a block", "a transaction", "an account", "a slot"];
  io.out("bytes for each of what a table grows with, and of all tables together:");
  io.out([`${"table".padEnd(24)}`, ...["entries", "size", ...heads].map((head) => head.padStart(14))].join(""));
  const costs = tableCosts(statistics);
  for (const [name, { entries, sizeBytes }] of Object.entries(statistics.tables)) {
    const own = GROWTH_UNITS.map((unit) => (costs[name]?.[unit] === undefined ? "" : costs[name][unit].toFixed(0)));
    io.out(
      [name.padEnd(24), ...[String(entries), megabytes(sizeBytes), ...own].map((text) => text.padStart(14))].join("").trimEnd(),
    );
  }
  const sums = GROWTH_UNITS.map((unit) => Object.values(costs).reduce((sum, cost) => sum + (cost[unit] ?? 0), 0));
  io.out([`${"together".padEnd(52)}`, ...sums.map((sum) => sum.toFixed(0).padStart(14))].join(""));
}

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(2)} MiB`;
