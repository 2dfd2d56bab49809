import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createSenderCache, openChain } from "@rnode/chain";
import {
  BlobStore,
  DEV_MNEMONIC,
  DevChain,
  devAccounts,
  devMethods,
  forkedMethods,
  forkedStore,
  forkedTrieRoot,
  readingAhead,
  StateEditor,
} from "@rnode/dev-chain";
import {
  type ApiMethods,
  blockToJson,
  createTransactionFiller,
  method,
  methodsInWriter,
  NAMESPACES,
  type Profile,
  type ReadServices,
  unservedNamespaces,
} from "@rnode/eth-api";
import { LOCAL_ORIGINS } from "@rnode/jsonrpc";
import { createKzg, verifySidecar, withCellProofs } from "@rnode/kzg";
import type { LogFields } from "@rnode/observe";
import { bytesToHex, ZERO_ADDRESS } from "@rnode/primitives";
import { connectionBudget, namingPorts, type Scope, UserError } from "@rnode/program";
import { l1ChainConfig } from "@rnode/protocol";
import { cacheSizesOf } from "../cache-sizes.ts";
import type { ClientDependencies } from "../client.ts";
import { type ClientOptions, DEFAULT_NAMESPACES } from "../options.ts";
import { PoolService } from "../pool/pool-service.ts";
import { createPublicServer } from "../rpc/public-server.ts";
import { createReadServices, profileOf } from "../rpc/read-services.ts";
import { writerAccessOf, writeServicesOf } from "../rpc/writer-services.ts";
import { loadChainSpec, prepareGenesis } from "../setup/chain-spec.ts";
import { databasePath, openDatabase } from "../setup/database.ts";
import { VERSION } from "../version.ts";
import { bannerOf } from "./banner.ts";
import { openDevFolder } from "./dev-folder.ts";
import { DEFAULT_CHAIN_ID } from "./dev-options.ts";
import { openFork } from "./fork.ts";
import { devPoolOf } from "./pool-access.ts";

/** A running development chain. */
export interface RunningDevClient {
  readonly port: number;
  readonly status: () => LogFields;
  /** for the user, once */
  readonly banner: string;
}

/**
 * Builds and starts a client that makes its own blocks. There is one process and one listener: JSON-RPC over HTTP and WebSocket, and the
 * beacon API. It stops when the scope closes.
 *
 * @throws {UserError} something that the user must change; CodedError from the parts; errors from listening
 */
export async function startDevClient(
  scope: Scope,
  given: ClientOptions,
  { log, clock, metrics }: ClientDependencies,
): Promise<RunningDevClient> {
  const chosen = optionsForDev(given);
  const { http } = chosen;
  const accounts = devAccounts(chosen.dev.mnemonic, chosen.dev.accounts);
  const nowSec = (): number => Math.floor(clock.unixMs() / 1000);
  const fork = await openFork(scope, chosen, accounts, nowSec(), log);
  const options = fork?.options ?? chosen;
  const { dev } = options;
  const profile = profileOf(options);
  for (const warning of warningsOf(given, profile)) log.warn(warning);
  const folder = await scope.use(
    "folder of the development chain",
    async () => openDevFolder(options, accounts, nowSec()),
    (open) => open.remove(),
  );

  const spec = await loadChainSpec({ chain: folder.genesisPath, genesis: options.chain.genesis });
  if (spec.config.optimism !== undefined)
    throw new UserError(
      "--dev makes blocks of an Ethereum chain; this genesis is an OP Stack chain's, of which --fork-url=URL makes blocks",
    );
  const { chainId } = spec.config;
  if (fork === undefined && dev.chainId !== DEFAULT_CHAIN_ID && BigInt(dev.chainId) !== chainId)
    throw new UserError(
      `--dev.chain-id ${dev.chainId}: the genesis in ${folder.genesisPath} says ${chainId}; leave the option out, or give another --datadir`,
    );
  const config = { ...(fork?.config ?? l1ChainConfig(chainId) ?? spec.config), acceptsContractSenders: true }; // anvil_setChainId changes it
  let isStoreOwned = true; // until the chain takes it over, and closes it
  const store = await scope.use(
    "database",
    () => openDatabase(folder.path, { sync: folder.isTemporary ? "interval" : "each" }),
    (database) => (isStoreOwned ? database.close() : undefined),
  );
  if (fork === undefined) await prepareGenesis(store, { ...spec, config });
  else fork.begin(store);
  const editor = new StateEditor(store);
  const senders = createSenderCache({ workers: Math.max(1, availableParallelism() - 1) });
  scope.onClose("sender recovery", () => senders.close());
  const caches = cacheSizesOf(options.memory.cache);
  const chain = openChain(
    {
      ...{ config, senders, metrics, nowMs: () => clock.monotonicMs(), editsAfter: (hash) => editor.after(hash) },
      store: fork === undefined ? store : forkedStore(store, fork.state),
      trieRootOf: fork && forkedTrieRoot(fork.state),
    },
    { codeCacheBytes: caches.chainCode, tree: { maxStoredBytes: caches.executedBlocks } },
  );
  isStoreOwned = false;
  scope.onClose("chain", () => chain.close());

  const kzg = createKzg({ threads: 2 });
  scope.onClose("blob proofs", () => kzg.close());
  const blobs = await scope.use(
    "blobs",
    async () => new BlobStore(join(folder.path, "blobs"), !folder.isTemporary),
    (open) => open.close(),
  );
  const pool = new PoolService(
    { ...options.txpool, ...options.sending },
    {
      ...{ chain, profile, senders, log, metrics, nowSec },
      forwarder: undefined,
      blobs: {
        verify: (sidecar) => verifySidecar(kzg, sidecar),
        proveCells: (sidecar) => withCellProofs(kzg, sidecar),
        ofRemoved: (hashes) => blobs.sidecarOf(hashes),
      },
    },
  );
  scope.onClose("transaction pool", () => pool.close());

  const version = `rengine/v${VERSION}`;
  const devPool = devPoolOf(pool);
  const devChain = new DevChain(
    { ...dev, slotSec: folder.slotSec, slotsPerEpoch: dev.slotsInAnEpoch, coinbase: fork?.coinbase ?? ZERO_ADDRESS, version },
    {
      initialEdits: fork?.fundsOf(accounts),
      aroundBlock: fork && readingAhead(fork.state, devPool, config.optimism !== undefined),
      ...{ chain, pool: devPool, editor, blobs, kzg, clock, log },
    },
  );
  scope.onClose("mining", () => devChain.close());

  const access = writerAccessOf(chain, pool);
  const submit: typeof access.submit = async (raw, terms) => {
    const hash = await access.submit(raw, terms);
    devChain.mining.admit(hash);
    return hash;
  };
  const services: ReadServices = createReadServices(options, {
    ...{ store, chainView: chain, clock, metrics },
    writer: { ...access, submit },
    startingBlock: chain.head().number,
  });
  const { filters } = services;
  scope.onClose(
    "filters",
    chain.onHeadChange((change) => filters.onHeadChange(change)),
  );
  filters.followPending(pool);
  let isLogging = true;
  scope.onClose(
    "head log",
    chain.onHeadChange(({ head, removed, added }) => {
      if (!isLogging || removed.length + added.length === 0) return;
      const { header, transactions } = head.block;
      const fields = { number: header.number, hash: head.hash, txs: transactions.length, gasUsed: header.gasUsed };
      if (removed.length > 0) log.info("blocks taken back", { ...fields, removed: removed.length, added: added.length });
      else log.info("block made", fields);
    }),
  );

  const write = writeServicesOf(chain, pool);
  const own = devMethods({
    ...{ dev: devChain, chain, blobs, store, accounts, submit, calls: services.calls },
    pool: devPool,
    fill: createTransactionFiller(services),
    setLogging: (isOn) => {
      isLogging = isOn;
    },
    clientVersion: dev.clientName ?? version,
    setChainId: (id) => {
      config.chainId = id;
    },
    blockJson: (hash) => {
      const stored = chain.resolve({ kind: "hash", hash, requireCanonical: false })!;
      return blockToJson(profile, stored, { full: true, totalDifficulty: undefined });
    },
    instanceId: bytesToHex(randomBytes(32)),
  });
  const hasBeaconApi = config.optimism === undefined;
  const server = createPublicServer(options, {
    ...{ services, pending: pool, log, metrics },
    bind: (methods) => {
      const all = { ...methods, ...own, ...clientNameMethods(dev.clientName) };
      const bound = methodsInWriter(all, write, options.calls.maxGasPerRequest);
      return fork === undefined ? bound : forkedMethods(bound, { ...fork, chain });
    },
    maxOpenFiles: connectionBudget(),
    pages: hasBeaconApi ? (path, query) => devChain.beaconApi.answer(path, query) : undefined,
  });
  const { httpPort } = await scope.use(
    "public RPC server",
    () => namingPorts({ "http.port": http.port }, () => server.listen()),
    () => server.close(),
  );
  const { blockTimeMs, noMining } = dev;
  devChain.mining.setMode(
    noMining ? { kind: "manual" } : blockTimeMs === undefined ? { kind: "auto" } : { kind: "interval", ms: blockTimeMs },
  );
  const { header } = chain.genesis.block;
  const banner = bannerOf({
    ...{ version: `v${VERSION}`, accounts, port: httpPort, host: http.host, chainId: config.chainId },
    ...{ mnemonic: dev.mnemonic, balanceEther: dev.balanceEther, gasLimit: dev.gasLimit, fork: devChain.fork },
    baseFeeWei: header.baseFeePerGas ?? 0n,
    ...{ genesisTimeSec: header.timestamp, hasBeaconApi },
    mining: noMining ? "on demand" : blockTimeMs === undefined ? "with each transaction" : `every ${blockTimeMs / 1000} s`,
    folder: folder.isTemporary ? `${databasePath(folder.path)} (removed at the end; --datadir keeps one)` : folder.path,
  });
  return { port: httpPort!, banner, status: () => statusOf(chain, pool) };
}

/** Tools such as Hardhat's network helpers refuse a chain whose client they do not know. */
const clientNameMethods = (name: string | undefined): ApiMethods =>
  name === undefined
    ? {}
    : {
        web3_clientVersion: method({
          runs: "writer",
          result: { name: "version", schema: { type: "string" } },
          params: [],
          summary: "As --dev.client-name says.",
          handler: () => name,
        }),
      };

function statusOf(chain: Parameters<typeof writeServicesOf>[0], { pool }: PoolService): LogFields {
  const numberOf = (tag: "safe" | "finalized"): number | undefined => chain.headerOf({ kind: "tag", tag })?.header.number;
  return { head: chain.head().number, safe: numberOf("safe"), finalized: numberOf("finalized"), ...pool.counts() };
}

/** What the options ask of the servers that a development chain does not do. */
function warningsOf({ http, ws }: ClientOptions, profile: Profile): string[] {
  return (["http", "ws"] as const).flatMap((name) => {
    const { enabled, api } = name === "http" ? http : ws;
    if (!enabled || api === DEFAULT_NAMESPACES) return [];
    const unserved = unservedNamespaces(api, profile).map(
      (namespace) => `--${name}.api: face ${profile.name} has no ${namespace}_ methods; --profile=R has`,
    );
    return [`--${name}.api has no effect with --dev: a development chain serves all namespaces`, ...unserved];
  });
}

/**
 * A development chain serves all namespaces. It also serves all web pages, because the keys of the test phrase are public. With another phrase,
 * a page could have the user's own keys sign: then only local pages are served, and only under the names of this machine (DNS rebinding).
 */
function optionsForDev(given: ClientOptions): ClientOptions {
  const { http, ws, dev } = given;
  const isPublic = dev.mnemonic === DEV_MNEMONIC;
  const isDefaultHosts = http.vhosts.length === 1 && http.vhosts[0] === "localhost";
  const origins = http.cors.length > 0 ? http.cors : [isPublic ? "*" : LOCAL_ORIGINS];
  const api = NAMESPACES.filter((name) => name !== "testing" && name !== "admin");
  const open = {
    ...http,
    enabled: true,
    api,
    cors: origins,
    vhosts: isDefaultHosts && isPublic ? ["*"] : http.vhosts,
  };
  return { ...given, http: open, ws: { ...ws, enabled: true, host: http.host, port: http.port, api, origins } };
}
