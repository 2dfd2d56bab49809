import { bool, optionGroup, optionTable, path } from "@rnode/options";
import { bytesToHex } from "@rnode/primitives";
import { type Command, type CommandIo, readArguments } from "./command.ts";
import { CommandError } from "./command-error.ts";
import { openExistingDatabase } from "./database.ts";

const tableOf = (program: string, summary: string) =>
  optionTable({
    program,
    summary,
    envPrefix: "RENGINE_",
    groups: {
      main: optionGroup("", {
        datadir: { parse: path, required: true, help: "Folder of the database." },
        json: { parse: bool, default: false, env: false, help: "Print the result as JSON." },
      }),
    },
  });

/** `rengine db stats|verify`. */
export const db: Command = async (args, env, io) => {
  const [action, ...rest] = args;
  switch (action) {
    case "stats":
      return await stats(rest, env, io);
    case "verify":
      return await verify(rest, env, io);
    default:
      throw new CommandError(`expected "stats" or "verify"${action === undefined ? "" : `, found "${action}"`}`);
  }
};

const stats: Command = async (args, env, io) => {
  const parsed = readArguments(tableOf("rengine db stats", "Sizes of the database and its tables."), args, env, io);
  if (parsed === undefined) return 0;
  const store = openExistingDatabase(parsed.options.main.datadir, { readOnly: true });
  try {
    const statistics = store.storageStats();
    if (parsed.options.main.json) io.out(JSON.stringify(statistics));
    else printStats(statistics, io);
    return 0;
  } finally {
    await store.close();
  }
};

const verify: Command = async (args, env, io) => {
  const parsed = readArguments(
    tableOf("rengine db verify", "Recomputes the state root of the head from the flat state."),
    args,
    env,
    io,
  );
  if (parsed === undefined) return 0;
  const store = openExistingDatabase(parsed.options.main.datadir, { readOnly: true });
  try {
    if (store.head() === undefined) throw new CommandError(`${parsed.options.main.datadir}: the database is empty`);
    const verified = store.verifyState();
    const { block, problems } = verified;
    const stateRoot = bytesToHex(verified.stateRoot);
    if (parsed.options.main.json) {
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
};

type Statistics = ReturnType<ReturnType<typeof openExistingDatabase>["storageStats"]>;

function printStats(statistics: Statistics, io: CommandIo): void {
  const { head, firstBlock, oldestProvableBlock } = statistics;
  io.out(`folder ${statistics.folder}`);
  io.out(`format ${statistics.format}`);
  io.out(head === undefined ? "head none" : `head ${head.number} ${head.hash}`);
  io.out(`first block ${firstBlock ?? "none"}, oldest block with proofs ${oldestProvableBlock ?? "none"}`);
  io.out(`file ${megabytes(statistics.fileBytes)}, free inside ${megabytes(statistics.freeBytes)}`);
  io.out(`${"table".padEnd(24)}${"entries".padStart(14)}${"size".padStart(14)}`);
  for (const [name, { entries, sizeBytes }] of Object.entries(statistics.tables)) {
    io.out(`${name.padEnd(24)}${String(entries).padStart(14)}${megabytes(sizeBytes).padStart(14)}`);
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(2)} MiB`;
