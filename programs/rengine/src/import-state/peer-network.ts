import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { type DevP2PHandlers, type DevP2PNetwork, openNetwork } from "@rnode/devp2p";
import { noMetrics, silentLogger } from "@rnode/observe";
import { makeFolder, systemClock } from "@rnode/program";
import { type ChainConfig, networkGenesisHash } from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import { VERSION } from "../version.ts";
import type { FirstBlock } from "./block-source.ts";

const NO_POOL: DevP2PHandlers = { onTransactions: () => {}, pooledTransactions: async () => [] };

export interface PeerNetwork extends Pick<DevP2PNetwork, "list" | "onChange"> {
  close(): Promise<void>;
}

/**
 * Joins the network of execution clients with the first block alone, and connects to these peers only.
 *
 * @param folder of a temporary database
 */
export async function joinPeers(
  config: ChainConfig,
  first: FirstBlock,
  enodes: readonly string[],
  folder: string,
): Promise<PeerNetwork> {
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  remove();
  makeFolder(folder);
  const store = openChainStore(folder, { sync: "interval" });
  store.writeGenesis({
    ...first,
    receipts: [],
    senders: [],
    changes: { accounts: [], codes: [] },
    storageRoots: new Map(),
    nodes: [],
  });
  await store.close();
  const network = await openNetwork(
    {
      chain: config,
      networkId: Number(config.chainId),
      genesisHash: networkGenesisHash(config, first.hash),
      genesisTimeSec: first.block.header.timestamp,
      nodeKey: new Uint8Array(randomBytes(32)),
      clientId: `rengine/${VERSION}`,
      listen: { ip: "127.0.0.1", tcpPort: 0, udpPort: 0 },
      nat: { kind: "none" },
      maxPeers: enodes.length,
      discovery: { enabled: false, bootnodes: [] },
      trustedPeers: enodes,
      databaseFolder: folder,
      gossipsTransactions: false,
    },
    NO_POOL,
    { clock: systemClock, log: silentLogger, metrics: noMetrics },
  );
  return {
    list: () => network.list(),
    onChange: (listener) => network.onChange(listener),
    async close() {
      await network.close();
      remove();
    },
  };
}
