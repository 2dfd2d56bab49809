import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MetricFactory, noMetrics, silentLogger } from "@rnode/observe";
import { hexToBytes } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { type ChainConfig, parseChainConfig } from "@rnode/protocol";
import { type BlockCommit, type ChainDatabase, openChainStore } from "@rnode/storage";
import { RandomChain } from "@rnode/storage/testing";
import type { DevP2PConfig, DevP2PHandlers, DevP2PNetwork, ReceivedTransaction } from "../network.ts";
import { startNetwork } from "../start-network.ts";
import { writePlainChain } from "./plain-chain.ts";

/** A network over a database with random blocks. */
export interface TestNode {
  readonly network: DevP2PNetwork;
  readonly store: ChainDatabase;
  /** the genesis first */
  readonly blocks: readonly { readonly commit: BlockCommit }[];
  readonly folder: string;
  /** transactions from peers */
  readonly received: ReceivedTransaction[];
  /** EIP-2718 encodings by hash in hex, for requests of peers */
  readonly pool: Map<string, Uint8Array>;
  /** the same identity and folder again */
  restart(changes?: Partial<DevP2PConfig>): Promise<DevP2PNetwork>;
  close(): Promise<void>;
}

export const TEST_CHAIN: ChainConfig = parseChainConfig({
  chainId: 7_357,
  homesteadBlock: 0,
  londonBlock: 0,
  shanghaiTime: 0,
  cancunTime: 1_900_000_000,
});

export interface TestNodeOptions extends Partial<Omit<DevP2PConfig, "nodeKey">> {
  /** the last byte of its key */
  readonly key: number;
  /** of the random chain: nodes of one seed are on one chain */
  readonly seed?: number;
  readonly blocks?: number;
  /** blocks of ordinary transactions with this number of data bytes, instead of random ones */
  readonly plainDataBytes?: number;
  /** default: in the caller's thread, with these metrics */
  readonly metrics?: MetricFactory;
  readonly open?: (config: DevP2PConfig, handlers: DevP2PHandlers) => Promise<DevP2PNetwork>;
}

export async function startTestNode(options: TestNodeOptions): Promise<TestNode> {
  const { key, seed = 1, blocks = 4, plainDataBytes, metrics = noMetrics, open: openElsewhere, ...changes } = options;
  const open =
    openElsewhere ?? ((config, handlers) => startNetwork(config, handlers, { clock: systemClock, log: silentLogger, metrics }));
  const folder = mkdtempSync(join(tmpdir(), "devp2p-"));
  const databaseFolder = join(folder, "chaindata");
  const store = openChainStore(databaseFolder, { sync: "interval" });
  const commits = plainDataBytes === undefined ? randomBlocks(store, seed, blocks) : writePlainChain(store, blocks, plainDataBytes);
  const genesis = commits[0]!;
  const received: ReceivedTransaction[] = [];
  const pool = new Map<string, Uint8Array>();
  const handlers: DevP2PHandlers = {
    onTransactions: (transactions) => void received.push(...transactions),
    pooledTransactions: async (hashes) => hashes.flatMap((hash) => pool.get(Buffer.from(hash).toString("hex")) ?? []),
  };
  const config: DevP2PConfig = {
    chain: TEST_CHAIN,
    networkId: 7_357,
    genesisHash: genesis.hash,
    genesisTimeSec: genesis.block.header.timestamp,
    nodeKey: hexToBytes(key.toString(16).padStart(64, "0")),
    clientId: `test/${key}`,
    listen: { ip: "127.0.0.1", tcpPort: 0, udpPort: 0 },
    nat: { kind: "none" },
    maxPeers: 10,
    discovery: { enabled: false, bootnodes: [] },
    trustedPeers: [],
    databaseFolder,
    folder: join(folder, "peers"),
    gossipsTransactions: true,
    ...changes,
  };
  const start = (more: Partial<DevP2PConfig> = {}): Promise<DevP2PNetwork> => open({ ...config, ...more }, handlers);
  let network = await start();
  return {
    get network() {
      return network;
    },
    store,
    blocks: commits.map((commit) => ({ commit })),
    folder,
    received,
    pool,
    async restart(more) {
      await network.close();
      network = await start(more);
      return network;
    },
    async close() {
      await network.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function randomBlocks(store: ChainDatabase, seed: number, count: number): BlockCommit[] {
  const chain = new RandomChain(store, seed);
  chain.extendBy(count);
  return chain.blocks.map(({ commit }) => commit);
}
