import { basename } from "node:path";
import { genesisBlock } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import { chainConfigOfNetwork, networkByName, parseGenesis } from "@rnode/protocol";
import { jsonFilesBelow, readJsonFile, reportOf, resultOf, type SuiteReport } from "../vectors.ts";

/**
 * Genesis files of named networks, `<superchain>-<chain>.json[.gz]`: the block hash must be that of the network table. If a file's
 * `config` is null, it is also taken from the table.
 */
export function runGenesisTests(folder: string): SuiteReport {
  return reportOf(jsonFilesBelow(folder).map((path) => resultOf(basename(path), () => checkGenesisFile(path))));
}

/** `sepolia-op.json.gz` is `op-sepolia`. */
function networkNameOf(path: string): string {
  const [, superchain = "", chain = ""] = /^([^-]+)-(.+?)\.json(?:\.gz)?$/.exec(basename(path)) ?? [];
  return `${chain}-${superchain}`;
}

function checkGenesisFile(path: string): string | undefined {
  const networkName = networkNameOf(path);
  const network = networkByName(networkName);
  if (network === undefined) return `no network named ${networkName}`;
  const genesis = parseGenesis(readJsonFile(path));
  const hash = bytesToHex(genesisBlock(genesis, genesis.config ?? chainConfigOfNetwork(networkName)).hash);
  const expected = network.genesis.l2.hash;
  return hash === expected ? undefined : `expected ${expected}, computed ${hash}`;
}
