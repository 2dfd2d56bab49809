import { create2DeployerCodeFrom, newEngine, warmUpOnce } from "@rnode/chain";
import {
  CallService,
  DEFAULT_FILTER_LIMITS,
  FilterRegistry,
  GasPriceOracle,
  type PendingBlocks,
  PROFILE_G,
  PROFILE_R,
  type Profile,
  type ReadBackend,
  type ReadServices,
  SimulateService,
  SyncFeed,
  TraceService,
  withBlockCache,
  withPendingBlock,
  withPrunedHistory,
} from "@rnode/eth-api";
import { type MetricFactory, noMetrics } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { ChainDatabase } from "@rnode/storage";
import { cacheSizesOf } from "../cache-sizes.ts";
import type { ClientOptions } from "../options.ts";
import { historyBlocksOf } from "../setup/history-option.ts";
import { VERSION } from "../version.ts";

const PROFILES: Readonly<Record<"R" | "G", Profile>> = { R: PROFILE_R, G: PROFILE_G };

/** What differs between the process that owns the chain and those that only read it. */
export interface ServiceSources {
  readonly store: ChainDatabase;
  readonly chainView: ReadBackend["chain"];
  readonly writer: ReadServices["writer"];
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly metrics?: MetricFactory | undefined;
  /** number of the head when the program started */
  readonly startingBlock: number;
  /** the block under construction; default: there is none */
  readonly pending?: PendingBlocks | undefined;
  /** whether the client is syncing; default: it never is */
  readonly sync?: SyncFeed | undefined;
  /** which of several processes keeps the filters created here */
  readonly filterHome?: FilterHome | undefined;
}

/** One of several processes that keep filters. */
interface FilterHome {
  readonly reader: number;
  readonly count: number;
}

/** Creates the services of the methods, in the same way in every process that serves them. */
export function createReadServices(options: ClientOptions, sources: ServiceSources): ReadServices {
  const {
    store,
    chainView,
    writer,
    clock,
    startingBlock,
    filterHome,
    pending,
    sync = new SyncFeed(),
    metrics = noMetrics,
  } = sources;
  const sizes = cacheSizesOf(options.memory.cache);
  const cachedBytes = metrics.gauge(
    "memory_decoded_blocks_bytes",
    "Approximate size of decoded blocks that are kept for requests.",
  );
  const kept = withBlockCache(chainView, store, { maxBytes: sizes.decodedBlocks, onSize: (bytes) => cachedBytes.set(bytes) });
  const profile = profileOf(options);
  const sealed = withPrunedHistory(kept, store, profile);
  const chain = pending === undefined ? sealed : withPendingBlock(sealed, pending);
  const backend: ReadBackend = { profile, chain, store, pending };
  const maxBytes = options.limits.maxResponseBytes;
  const logLimits = { maxBlocks: profile.rpc.maxBlocksPerFilter, maxLogs: profile.rpc.maxLogsPerResponse, maxBytes };
  const engine = newEngine({ codeCacheBytes: sizes.callCode }); // calls take turns on it: each runs to its end before the next begins
  warmUpOnce(engine);
  const callLimits = { ...options.calls, codeCacheBytes: sizes.callCode };
  const calls = new CallService(backend, engine, callLimits);
  metrics.gaugeOf("memory_call_engines_bytes", "Linear memory of the engines that serve calls.", () => calls.engineBytes);
  const maxFilters = Math.ceil(DEFAULT_FILTER_LIMITS.maxFilters / (filterHome?.count ?? 1));
  const filterLimits = { ...DEFAULT_FILTER_LIMITS, ...logLimits, maxFilters, idTag: filterHome?.reader };
  const filters = new FilterRegistry(backend, filterLimits, () => clock.monotonicMs());
  metrics.gaugeOf(
    "memory_filters_bytes",
    "Approximate size of polled filters and of the changes that wait for the next poll.",
    () => filters.bytes,
  );
  return {
    version: VERSION,
    backend,
    writer,
    calls,
    simulations: new SimulateService(backend, engine, callLimits),
    traces: new TraceService(backend, calls, {
      limits: { ...options.traces, maxBytes },
      create2DeployerCode: create2DeployerCodeFrom(options.chain.upgradesDir),
      codeCacheBytes: sizes.callCode,
    }),
    gasPrice: new GasPriceOracle(backend, options.gpo),
    filters,
    logLimits,
    maxTraceFilterBlocks: options.traces.maxFilterBlocks,
    sending: { ...options.rollup, ...options.sending },
    oldestProvableBlock: () => store.retainedHistory()?.oldestProof,
    historyBlocks: historyBlocksOf(options.history),
    startingBlock,
    sync,
  };
}

/** The chosen profile, with the chosen limits. */
export function profileOf({ chain, logQueries }: ClientOptions): Profile {
  const profile = PROFILES[chain.profile];
  return {
    ...profile,
    rpc: {
      ...profile.rpc,
      maxBlocksPerFilter: logQueries.maxBlocksPerFilter ?? profile.rpc.maxBlocksPerFilter,
      maxLogsPerResponse: logQueries.maxLogsPerResponse ?? profile.rpc.maxLogsPerResponse,
    },
  };
}
