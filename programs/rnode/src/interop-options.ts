import { listenAddress, optionGroup, path, port } from "@rnode/program";

export const interopOptions = optionGroup("interop", {
  dependencySet: {
    parse: path,
    help: "JSON file that lists the chains of the interop cluster. Default: those of a named network. (experimental)",
  },
  jwtSecret: {
    parse: path,
    needs: "interop.rpc.addr",
    help: "File with the secret of the interop server; made if it is missing or empty. Default: rnode_interop_jwt_secret.txt",
  },
  rpcAddr: {
    parse: listenAddress,
    flag: "interop.rpc.addr",
    help: "Address of the server for an interop supervisor (WebSocket only); without it, nobody supervises this node. (experimental)",
  },
  rpcPort: {
    parse: port,
    flag: "interop.rpc.port",
    default: 9645,
    needs: "interop.rpc.addr",
    help: "Port of the interop server.",
  },
});
