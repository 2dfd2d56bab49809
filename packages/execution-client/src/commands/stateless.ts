import { performance } from "node:perf_hooks";
import { executeStateless, newEngine, parseBlockFile } from "@rnode/chain";
import { bool, optionGroup, optionTable, path } from "@rnode/options";
import { bytesToHex, isCodedError } from "@rnode/primitives";
import { command, UserError } from "@rnode/program";
import { readJson } from "../setup/read-input.ts";
import { VERSION } from "../version.ts";

const table = optionTable({
  program: "rengine stateless",
  summary: "Executes one block from its parent header, payload attributes and witness, without a database.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      json: { parse: bool, default: false, env: false, help: "Print the result as JSON." },
    }),
    rollup: optionGroup("rollup", {
      upgradesDir: { parse: path, help: "Folder of network upgrade bundles (Canyon's first block needs one)." },
    }),
  },
  positionals: { name: "BLOCK.json", min: 1, max: 1 },
});

/** `rengine stateless`: prints `block 0x… state 0x… gas N time N ms`; exits with 1 if the file expects a different result. */
export const stateless = command({ table, version: VERSION }, async ({ options, positionals }, io) => {
  const file = positionals[0]!;
  const json = await readJson(file);
  const engine = newEngine();
  const startMs = performance.now();
  const { executed, mismatches } = naming(file, () =>
    executeStateless(parseBlockFile(json), { engine, upgradesDir: options.rollup.upgradesDir }),
  );
  const timeMs = Math.round((performance.now() - startMs) * 1000) / 1000;
  const { header, transactions } = executed.block;
  const blockHash = bytesToHex(executed.hash);
  const stateRoot = bytesToHex(header.stateRoot);
  if (options.main.json) {
    io.out(
      JSON.stringify({
        number: header.number,
        blockHash,
        stateRoot,
        receiptsRoot: bytesToHex(header.receiptsRoot),
        gasUsed: Number(header.gasUsed),
        transactions: transactions.length,
        timeMs,
        mismatches,
      }),
    );
  } else {
    io.out(`block ${blockHash} state ${stateRoot} gas ${header.gasUsed} time ${timeMs.toFixed(1)} ms`);
    for (const { field, expected, computed } of mismatches) io.err(`${file}: ${field}: expected ${expected}, computed ${computed}`);
  }
  return mismatches.length === 0 ? 0 : 1;
});

/** Prefixes errors about a file's content with the file's name. */
function naming<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (isCodedError(cause)) throw new UserError(`${file}: ${cause.message}`, { cause });
    throw cause;
  }
}
