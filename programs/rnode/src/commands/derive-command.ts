import { readFileSync } from "node:fs";
import { altDaOptions } from "@rnode/alt-da";
import { createDecompressor } from "@rnode/compression";
import { ExplainRun, type Explanation, explainRange, explanationLines, explanationToJson } from "@rnode/derivation";
import { createBeaconMetrics, createL1Metrics } from "@rnode/l1";
import { registryPlace } from "@rnode/networks";
import { createLogger, noMetrics } from "@rnode/observe";
import { hexToBytes, isCodedError } from "@rnode/primitives";
import {
  address,
  bool,
  command,
  listOf,
  logOptions,
  optionGroup,
  optionTable,
  path,
  systemClock,
  UserError,
  uint,
} from "@rnode/program";
import type { L1BlockRef } from "@rnode/protocol";
import { l1Options, overrideOptions, rollupOptions } from "../options.ts";
import { connectBeacon } from "../start/beacon.ts";
import { connectL1, daClientOf } from "../start/connections.ts";
import { loadRollup } from "../start/rollup-setup.ts";
import { VERSION } from "../version.ts";

const table = optionTable({
  program: "rnode derive",
  summary:
    "Says what became of each batcher transaction, frame, channel and batch, and why: of a range of L1 blocks (--from, --to), or of data in files (--data). Batches are judged as far as that is possible without the L2 chain.",
  envPrefix: "RNODE_",
  groups: {
    main: optionGroup("", {
      explain: {
        parse: bool,
        default: false,
        env: false,
        help: "Explain. The only thing that this command does so far, and required.",
      },
      from: { parse: uint, env: false, help: "First L1 block. Channels that began before it are not complete." },
      to: { parse: uint, env: false, help: "Last L1 block." },
      batcher: { parse: address, env: false, help: "Address of the batcher. Default: that of the rollup configuration's genesis." },
      data: {
        parse: listOf(path),
        env: false,
        help: "Files instead of an L1: hex of a signed batcher transaction, of its data, or of a blob. Further files may follow.",
      },
      l1Time: {
        parse: uint,
        flag: "l1-time",
        env: false,
        help: "Time of the L1 block that the files are in, in seconds. Default: now.",
      },
      json: { parse: bool, default: false, env: false, help: "Print JSON." },
    }),
    files: optionGroup("", {
      registry: {
        parse: registryPlace,
        env: false,
        help: "A superchain registry that a named network is read from: a URL, or a folder.",
      },
    }),
    rollup: rollupOptions,
    override: overrideOptions,
    l1: l1Options,
    altda: altDaOptions,
    log: logOptions,
  },
  exclusive: [
    ["network", "rollup.config"],
    ["data", "from"],
    ["data", "to"],
  ],
  positionals: { name: "FILE", min: 0, max: 1000 },
});

/**
 * `rnode derive --explain`. A range needs an L1 endpoint, and a beacon node if there are blobs; files need no endpoint. The L2 is never
 * asked.
 */
export const deriveCommand = command({ table, version: VERSION }, async ({ options, positionals }, io) => {
  const { main } = options;
  if (!main.explain) throw new UserError("--explain is required: rnode derive --explain --network=NAME --from=N --to=M");
  const log = createLogger(options.log);
  const config = await loadRollup(options, { log, clock: systemClock });
  const daInputs = daClientOf(options.altda);
  const run = new ExplainRun(config, createDecompressor(), daInputs);
  const print = (explanation: Explanation): number => {
    if (main.json) io.out(JSON.stringify(explanationToJson(explanation)));
    else for (const line of explanationLines(explanation)) io.out(line);
    return 0;
  };
  if (main.data !== undefined) {
    const files = [...main.data, ...positionals].map(readHex);
    try {
      await run.readFiles(blockAt(main.l1Time ?? Math.floor(systemClock.unixMs() / 1000)), files);
    } finally {
      daInputs?.close();
    }
    return print(run.result);
  }
  const { from, to } = main;
  if (from === undefined || to === undefined) throw new UserError("give --from and --to, or --data");
  if (from > to) throw new UserError(`--from=${from} must not be after --to=${to}`);
  const metrics = createL1Metrics(noMetrics);
  const connection = connectL1(options.l1, { config, clock: systemClock, log, metrics });
  const beacon = connectBeacon(options.l1, { config, clock: systemClock, log, metrics: createBeaconMetrics(noMetrics) });
  try {
    const head = await connection.l1.blockByLabel("latest");
    if (head !== undefined && head.number < to) {
      throw new UserError(`--to=${to} is after the L1 head, which is ${head.number}: name a block that L1 has`);
    }
    const batcher = main.batcher ?? config.genesis.systemConfig.batcherAddress;
    const onBlock = (number: number): void => io.progress(`L1 block ${number} of ${to}`);
    return print(await explainRange({ from, to, batcher }, run, { l1: connection.l1, blobs: beacon.blobs, onBlock }));
  } finally {
    daInputs?.close();
    await beacon.close();
    await connection.close();
  }
});

/** The block that the files are taken to be in: no real block has its number and hash. */
const blockAt = (timestamp: number): L1BlockRef => {
  const hash = `0x${"00".repeat(32)}` as const;
  return { number: 0, hash, parentHash: hash, timestamp };
};

function readHex(file: string): Uint8Array {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new UserError(`--data: cannot read ${file}: ${(cause as Error).message}`, { cause });
  }
  const digits = text.replace(/\s+/g, "");
  try {
    return hexToBytes(digits.startsWith("0x") ? digits : `0x${digits}`);
  } catch (cause) {
    if (!isCodedError(cause)) throw cause;
    throw new UserError(`--data: ${file} is not hexadecimal: expected a signed transaction, its data, or a blob, in hex`, {
      cause,
    });
  }
}
