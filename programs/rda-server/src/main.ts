import {
  bool,
  listenAddress,
  listOf,
  logOptions,
  namingPorts,
  type OptionsOf,
  optionGroup,
  optionTable,
  type Program,
  path,
  port,
  runProgram,
  text,
} from "@rnode/program";
import { startDaServer } from "./da-server.ts";
import { DaStore } from "./da-store.ts";
import { opDaServer } from "./foreign-options.ts";
import { VERSION } from "./version.ts";

const serverOptions = optionGroup("", {
  addr: { parse: listenAddress, default: "127.0.0.1", help: "Address that the server listens on." },
  port: { parse: port, default: 3100, help: "Port of the server." },
  vhosts: {
    parse: listOf(text),
    default: ["localhost"],
    help: "Names accepted in the Host header, besides addresses and names without public DNS (da-1, .internal, .local); * is all.",
  },
  datadir: { parse: path, required: true, help: "Folder of the data, one file for each commitment." },
  genericCommitment: {
    parse: bool,
    default: false,
    help: "Compute the commitments; without it, clients say keccak256 of the data.",
  },
});

export const daServerOptions = optionTable({
  program: "rda-server",
  summary: "Keeps batch data outside of L1, in files.",
  envPrefix: "RDA_SERVER_",
  foreign: [opDaServer],
  groups: { server: serverOptions, log: logOptions },
});

export type DaServerCliOptions = OptionsOf<typeof serverOptions>;

const rdaServer: Program<(typeof daServerOptions)["groups"]> = {
  name: "rda-server",
  version: VERSION,
  table: daServerOptions,
  async start({ server: options }, { scope, log }) {
    const store = await DaStore.open(options.datadir);
    const { addr: host, port, vhosts, genericCommitment: isGeneric } = options;
    const server = await scope.use(
      "server",
      () => namingPorts({ port }, () => startDaServer({ host, port, isGeneric, vhosts }, { store, log })),
      (running) => running.close(),
    );
    log.info("rda-server is ready", {
      port: server.port,
      commitments: isGeneric ? "generic" : "keccak256",
      folder: options.datadir,
    });
    return {};
  },
};

/** Runs `rda-server`. @returns the exit code */
export function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(rdaServer, args, env);
}
