import { optionGroup, path, port, text } from "@rnode/options";

export const interopOptions = optionGroup("interop", {
  dependencySet: { parse: path, unavailable: "interop", help: "JSON file that lists the chains of the interop cluster." },
  jwtSecret: { parse: path, needs: "interop.rpc.addr", help: "File with the secret of the interop server." },
  rpcAddr: { parse: text, flag: "interop.rpc.addr", unavailable: "interop", help: "Address of the interop server." },
  rpcPort: {
    parse: port,
    flag: "interop.rpc.port",
    default: 9645,
    needs: "interop.rpc.addr",
    help: "Port of the interop server.",
  },
});
