import { performance } from "node:perf_hooks";
import {
  create2DeployerCodeFrom,
  executeStateless,
  fetchWitnessFile,
  isWitnessFile,
  newEngine,
  parseBlockFile,
  parseWitnessFile,
  type StatelessOptions,
  verifyBlock,
} from "@rnode/chain";
import { createRpcClient } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, isCodedError, toQuantity } from "@rnode/primitives";
import { bool, type CommandIo, command, httpUrl, optionGroup, optionTable, path, text, textOf, UserError } from "@rnode/program";
import { networkByName } from "@rnode/protocol";
import { readJson } from "../setup/read-input.ts";
import { VERSION } from "../version.ts";

const table = optionTable({
  program: "rengine stateless",
  summary: "Executes one block on a witness of the state that it reads, without a database: from a file, or asked of a node.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      rpc: { parse: httpUrl, env: false, help: "Node to ask for block and witness instead of a file; it must serve debug_." },
      block: {
        parse: textOf("number|tag|hash", "a block number, hash or tag"),
        env: false,
        needs: "rpc",
        isMistakeAlone: true,
        help: "Block to ask for. Default: latest.",
      },
      chain: {
        parse: text,
        env: false,
        needs: "rpc",
        isMistakeAlone: true,
        help: "Name of the network, or a genesis file. Default: the network with the node's chain id.",
      },
      json: { parse: bool, default: false, env: false, help: "Print the result as JSON." },
    }),
    rollup: optionGroup("rollup", {
      upgradesDir: { parse: path, help: "Folder of network upgrade bundles (Canyon's first block needs one)." },
    }),
  },
  positionals: { name: "FILE", min: 0, max: 1 },
});

/** `rengine stateless`: prints `block 0x… state 0x… gas N time N ms`; exits with 1 and the reason if anything does not fit. */
export const stateless = command({ table, version: VERSION }, async ({ options, positionals }, io) => {
  const { rpc, block, chain, json: asJson } = options.main;
  const [file] = positionals;
  if ((rpc === undefined) === (file === undefined)) throw new UserError("give either a file or --rpc=URL");
  const source = file ?? `${rpc} block ${block ?? "latest"}`;
  const json = rpc === undefined ? await readJson(source) : await fetchFrom(rpc, block ?? "latest", chain);
  const { upgradesDir } = options.rollup;
  const executes = { engine: newEngine(), create2DeployerCode: create2DeployerCodeFrom(upgradesDir) };
  return naming(source, () =>
    isWitnessFile(json) ? verifyFinished(json, source, executes, asJson, io) : buildFrom(json, source, executes, asJson, io),
  );
});

async function fetchFrom(url: string, block: string, chain: string | undefined): Promise<object> {
  const client = createRpcClient({ url });
  try {
    const selector = /^\d+$/.test(block) ? toQuantity(Number(block)) : block;
    return await fetchWitnessFile((method, params) => client.call(method, [...params]), selector, await chainOf(chain));
  } catch (cause) {
    if (!isCodedError(cause)) throw cause;
    throw new UserError(`${url}: ${cause.message}`, { cause });
  } finally {
    await client.close();
  }
}

/** A name, or the `config` of a genesis file. */
async function chainOf(chain: string | undefined): Promise<unknown> {
  if (chain === undefined || networkByName(chain) !== undefined) return chain;
  const json = await readJson(chain);
  return typeof json === "object" && json !== null && "config" in json ? json.config : json;
}

/** A finished block: everything that a node checks. */
function verifyFinished(json: unknown, source: string, executes: StatelessOptions, asJson: boolean, io: CommandIo): number {
  const witnessed = parseWitnessFile(json);
  const startMs = performance.now();
  const verification = verifyBlock(witnessed, executes);
  const timeMs = Math.round((performance.now() - startMs) * 1000) / 1000;
  const { header, hashHex, block } = witnessed.block;
  const isValid = verification.kind === "valid";
  const stateRoot = bytesToHex(header.stateRoot);
  if (asJson) {
    io.out(
      JSON.stringify({
        number: header.number,
        blockHash: hashHex,
        parentHash: bytesToHex(header.parentHash),
        stateRoot,
        receiptsRoot: bytesToHex(header.receiptsRoot),
        gasUsed: Number(header.gasUsed),
        transactions: block.transactions.length,
        timeMs,
        valid: isValid,
        reason: isValid ? null : verification.reason,
      }),
    );
  } else if (isValid) {
    const { state, codes, headers } = witnessed.witness;
    io.out(`block ${hashHex} state ${stateRoot} gas ${header.gasUsed} time ${timeMs.toFixed(1)} ms`);
    io.out(
      `checked: ${block.transactions.length} transactions executed on ${state.length} trie nodes, ${codes.length} codes and ${headers.length} headers; header, roots, gas and hash are those that follow from parent ${bytesToHex(header.parentHash)}`,
    );
  }
  if (!isValid) io.err(`${source}: block ${header.number} ${hashHex} is not valid: ${verification.reason}`);
  return isValid ? 0 : 1;
}

/** Builds a block from the file's input and compares the result with the expected one. */
function buildFrom(json: unknown, file: string, executes: StatelessOptions, asJson: boolean, io: CommandIo): number {
  const startMs = performance.now();
  const { executed, mismatches } = executeStateless(parseBlockFile(json), executes);
  const timeMs = Math.round((performance.now() - startMs) * 1000) / 1000;
  const { header, transactions } = executed.block;
  const blockHash: Hex = bytesToHex(executed.hash);
  const stateRoot = bytesToHex(header.stateRoot);
  if (asJson) {
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
}

/** Prefixes errors about a file's content with the file's name. */
function naming<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (isCodedError(cause)) throw new UserError(`${file}: ${cause.message}`, { cause });
    throw cause;
  }
}
