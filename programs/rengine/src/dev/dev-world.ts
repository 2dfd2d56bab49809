import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { SenderSource } from "@rnode/chain";
import {
  BlobStore,
  DevChain,
  devAccounts,
  devMethods,
  EditableChain,
  type Forking,
  forkedMethods,
  forkedStore,
  forkedTrieRoot,
  type Mining,
  readingAhead,
  StateEditor,
} from "@rnode/dev-chain";
import { type ApiMethods, blockToJson, createTransactionFiller, method, methodsInWriter, type ReadServices } from "@rnode/eth-api";
import type { Pages } from "@rnode/jsonrpc";
import { type Kzg, verifySidecar, withCellProofs } from "@rnode/kzg";
import type { LogFields } from "@rnode/observe";
import { bytesToHex, ZERO_ADDRESS } from "@rnode/primitives";
import { type Scope, UserError } from "@rnode/program";
import { l1ChainConfig } from "@rnode/protocol";
import { cacheSizesOf } from "../cache-sizes.ts";
import type { ClientDependencies } from "../client.ts";
import type { ClientOptions } from "../options.ts";
import { PoolService } from "../pool/pool-service.ts";
import { type PublicTables, publicTables } from "../rpc/public-server.ts";
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

/** A development chain with everything that serves it. `anvil_reset` with another fork replaces it as a whole. */
export interface DevWorld {
  readonly tables: PublicTables;
  /** the beacon API; an OP Stack chain has none */
  readonly pages: Pages | undefined;
  readonly mining: Mining;
  /** `undefined`: it is no fork */
  readonly forkUrl: string | undefined;
  /** whether it forks this block already */
  readonly isOf: (forking: Forking) => boolean;
  readonly reset: () => void;
  readonly status: () => LogFields;
  /** for the user, once */
  readonly banner: (port: number | undefined) => string;
}

export interface DevWorldDeps extends Pick<ClientDependencies, "log" | "clock" | "metrics"> {
  readonly kzg: Kzg;
  readonly senders: SenderSource;
  /** `anvil_reset` with another chain or block @throws {RpcError} */
  readonly replaceFork: (forking: Forking) => Promise<void>;
}

/**
 * Opens a chain with its pool and its methods. It ends when the scope closes.
 *
 * @param chosen options of the program @param isReset `--chain` may be another chain's
 * @throws {UserError} something that the user must change; CodedError from the parts
 */
export async function openDevWorld(
  scope: Scope,
  chosen: ClientOptions,
  isReset: boolean,
  { log, clock, metrics, kzg, senders, replaceFork }: DevWorldDeps,
): Promise<DevWorld> {
  const { http } = chosen;
  const accounts = devAccounts(chosen.dev.mnemonic, chosen.dev.accounts);
  const nowSec = (): number => Math.floor(clock.unixMs() / 1000);
  const fork = await openFork(scope, chosen, { accounts, nowSec: nowSec(), isReset, log });
  const options = fork?.options ?? chosen;
  const { dev } = options;
  const profile = profileOf(options);
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
    () => openDatabase(folder.path, { preimages: true, sync: folder.isTemporary ? "interval" : "each" }),
    (database) => (isStoreOwned ? database.close() : undefined),
  );
  if (fork === undefined) await prepareGenesis(store, { ...spec, config });
  else fork.begin(store);
  const editor = new StateEditor(store);
  const caches = cacheSizesOf(options.memory.cache);
  const chain = new EditableChain(
    {
      config,
      senders,
      metrics,
      nowMs: () => clock.monotonicMs(),
      editsAfter: (hash) => editor.after(hash),
      store: fork === undefined ? store : forkedStore(store, fork.state),
      trieRootOf: fork && forkedTrieRoot(fork.state),
    },
    { codeCacheBytes: caches.chainCode, tree: { maxStoredBytes: caches.executedBlocks } },
  );
  isStoreOwned = false;
  scope.onClose("chain", () => chain.close());

  const blobs = await scope.use(
    "blobs",
    async () => new BlobStore(join(folder.path, "blobs"), !folder.isTemporary),
    (open) => open.close(),
  );
  const pool = new PoolService(
    { ...options.txpool, ...options.sending },
    {
      chain,
      profile,
      senders,
      log,
      metrics,
      nowSec,
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
      chain,
      pool: devPool,
      editor,
      blobs,
      kzg,
      clock,
      log,
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
    store,
    chainView: chain,
    clock,
    metrics,
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

  const write = writeServicesOf(chain, pool, { isOptedIn: false, nowSec });
  const own = devMethods({
    dev: devChain,
    chain,
    blobs,
    store,
    accounts,
    submit,
    calls: services.calls,
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
    fork: fork?.facts,
    replaceFork,
  });
  const hasBeaconApi = config.optimism === undefined;
  const tables = publicTables(options, {
    services,
    pending: pool,
    bind: (methods) => {
      const all = { ...methods, ...own, ...clientNameMethods(dev.clientName) };
      const bound = methodsInWriter(all, write, options.calls.maxGasPerRequest);
      return fork === undefined ? bound : forkedMethods(bound, { ...fork, chain });
    },
  });
  const { blockTimeMs, noMining } = dev;
  const { header } = chain.genesis.block;
  return {
    tables,
    pages: hasBeaconApi ? (path, query) => devChain.beaconApi.answer(path, query) : undefined,
    mining: devChain.mining,
    forkUrl: dev.forkUrl,
    isOf: ({ url, blockNumber }) => fork !== undefined && url === dev.forkUrl && blockNumber === fork.facts.number,
    reset: () => devChain.reset(),
    status: () => statusOf(chain, pool),
    banner: (port) =>
      bannerOf({
        version: `v${VERSION}`,
        accounts,
        port,
        host: http.host,
        chainId: config.chainId,
        mnemonic: dev.mnemonic,
        balanceEther: dev.balanceEther,
        gasLimit: dev.gasLimit,
        fork: devChain.fork,
        baseFeeWei: header.baseFeePerGas ?? 0n,
        genesisTimeSec: header.timestamp,
        hasBeaconApi,
        mining: noMining ? "on demand" : blockTimeMs === undefined ? "with each transaction" : `every ${blockTimeMs / 1000} s`,
        folder: folder.isTemporary ? `${databasePath(folder.path)} (removed at the end; --datadir keeps one)` : folder.path,
      }),
  };
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
