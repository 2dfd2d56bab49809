import { createRpcClient, METHOD_NOT_FOUND, type RpcClient, RpcError, RpcTransportError } from "@rnode/jsonrpc";
import type { PeerBan, PeerDump, PeerInfo, PeerStats } from "@rnode/p2p";
import { bool, command, duration, optionGroup, optionTable, UserError, url } from "@rnode/program";
import { type PeerReport, peerLines } from "../p2p/peers-report.ts";
import { VERSION } from "../version.ts";

const table = optionTable({
  program: "rnode peers",
  summary: "Lists the peers of a running node, and who is banned and why.",
  envPrefix: "RNODE_",
  groups: {
    main: optionGroup("", {
      rpc: { parse: url, env: false, default: "http://127.0.0.1:9545", help: "RPC address of the node." },
      all: { parse: bool, default: false, env: false, help: "List peers that are known and not connected, too." },
      json: { parse: bool, default: false, env: false, help: "Print JSON." },
      timeoutMs: { parse: duration, flag: "timeout", env: false, default: 10_000, help: "How long to wait for the node." },
    }),
  },
});

/** `rnode peers`. */
export const peersCommand = command({ table, version: VERSION }, async ({ options: { main } }, io) => {
  const client = createRpcClient({ url: main.rpc, timeoutMs: main.timeoutMs });
  try {
    const report = await askPeers(client, main.all);
    if (main.json) io.out(JSON.stringify(report, undefined, 2));
    else for (const line of peerLines(report)) io.out(line);
    return 0;
  } catch (error) {
    if (error instanceof RpcTransportError)
      throw new UserError(
        `no node answers at ${client.endpoint}: give the address of its RPC server with --rpc (${error.message})`,
      );
    if (error instanceof RpcError && error.code === METHOD_NOT_FOUND)
      throw new UserError(`the node at ${client.endpoint} has no peers: it runs with --p2p.disable, or is no rnode`);
    if (error instanceof RpcError) throw new UserError(`the node at ${client.endpoint} refuses: ${error.message}`);
    throw error;
  } finally {
    await client.close();
  }
});

async function askPeers(client: RpcClient, all: boolean): Promise<PeerReport> {
  const [self, stats, dump, bans] = await Promise.all([
    client.call<PeerInfo>("rnodep2p_self", []),
    client.call<PeerStats>("rnodep2p_peerStats", []),
    client.call<PeerDump>("rnodep2p_peers", [!all]),
    client.call<PeerBan[]>("rnodep2p_listBans", []),
  ]);
  return { self, stats, dump, bans };
}
