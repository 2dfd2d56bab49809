import { listenAddress, optionGroup, path, port } from "@rnode/program";

/** op-node had the server of a supervisor until v1.19.0. The options stay, so that a command line which has them still starts. */
const noEffect =
  "op-node removed the supervisor's protocol in v1.19.0, and rnode as well: leave it out, and list the chains of the cluster with --interop.dependency-set";

const help = "No effect: the supervisor's protocol is gone.";

export const interopOptions = optionGroup("interop", {
  dependencySet: {
    parse: path,
    help: "JSON file that lists the chains of the interop cluster: the first block of Lagoon depends on it, and optimism_dependencySet returns it. Default: those of the network with the chain's id. Required if Lagoon is scheduled for another chain. (experimental)",
  },
  jwtSecret: { parse: path, noEffect, help },
  rpcAddr: { parse: listenAddress, flag: "interop.rpc.addr", noEffect, help },
  rpcPort: { parse: port, flag: "interop.rpc.port", default: 9645, noEffect, help },
});
