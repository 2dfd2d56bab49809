import { createRpcClient, createRpcServer, type RpcClient, withModules } from "@rnode/jsonrpc";
import { L1ContractClient } from "@rnode/l1";
import { ActiveSequencer, RollupClientError, RpcRollupNode, RpcSuperRootSource, untilAnswered } from "@rnode/node-clients";
import type { Feed, LogFields, Logger, MetricFactory } from "@rnode/observe";
import { bytesToHex, type Clock } from "@rnode/primitives";
import { connectionBudget, type Health, namingPorts, type Readiness, type Scope } from "@rnode/program";
import { jsonQuantity64, type RollupConfig } from "@rnode/protocol";
import { openSigner, type Signer } from "@rnode/signer";
import { connectL1, type L1Connection, TransactionManager } from "@rnode/tx-manager";
import { proposerMethods } from "./admin-rpc.ts";
import { findContract } from "./find-contract.ts";
import type { RproposerOptions } from "./options.ts";
import { OutputRootSource } from "./output-root-source.ts";
import type { ProposalSource } from "./proposal.ts";
import { Proposer } from "./proposer.ts";
import { ProposerError } from "./proposer-error.ts";
import { createProposerMetrics, type ProposerMetrics } from "./proposer-metrics.ts";
import { SuperRootSource } from "./super-root-source.ts";
import { VERSION } from "./version.ts";

export interface StartDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** for `GET /healthz` */
  readonly health: () => Health;
  /** for `GET /readyz` */
  readonly readiness?: Pick<Readiness, "healthWithin"> | undefined;
  /** the feed of the dashboard */
  readonly feed?: Pick<Feed, "put"> | undefined;
}

export interface RunningProposer {
  readonly rpcPort: number;
  /** Resolves once it is ready to propose. @throws {RollupClientError, ProposerError} it never can be */
  readonly ready: Promise<void>;
  /** The last proposal and, if nothing is proposed, what the proposer waits for. */
  readonly status: () => LogFields;
}

/** No method has large parameters. */
const MAX_REQUEST_BYTES = 1024 * 1024;
/** Pending transactions of an earlier run are waited for as long as they would be replaced a few times. */
const PENDING_REPLACEMENTS = 3;

/**
 * Wires everything. The server listens at once; endpoints that do not answer yet are waited for.
 *
 * @throws {UserError} the port is taken
 */
export async function startProposer(scope: Scope, options: RproposerOptions, deps: StartDeps): Promise<RunningProposer> {
  const { log } = deps;
  const { rpc, proposals } = options;
  const clientOf = (url: string): RpcClient => createRpcClient({ url, timeoutMs: options.transactions.networkTimeoutMs });
  const { l1EthRpc, rollupRpc, superrootRpcs = [] } = options.endpoints;
  const clients: Clients = {
    l1: l1EthRpc.map(clientOf),
    rollup: rollupRpc.map(clientOf),
    superRoots: superrootRpcs.map(clientOf),
  };
  scope.onClose("endpoints", () => Promise.all(Object.values(clients).map((some) => closeAll(some))));
  const signer = await scope.use(
    "signer",
    () => openSigner(options.account.privateKey, options.signer, { ...deps, timeoutMs: options.transactions.networkTimeoutMs }),
    (opened) => opened.close(),
  );
  let proposer: Proposer | undefined;
  let waitingFor = "";
  let ready: Promise<void> | undefined;
  // Closed after the server, so that no request can start it again.
  scope.onClose("proposer", async () => {
    await ready?.catch(() => {}); // reported by `ready`
    await proposer?.stop();
  });
  const server = createRpcServer({
    http: rpc,
    limits: { maxRequestBytes: MAX_REQUEST_BYTES },
    maxOpenFiles: connectionBudget(),
    methods: withModules(proposerMethods({ proposer: () => proposer, log, version: VERSION }, rpc.enableAdmin)),
    log,
    metrics: deps.metrics,
    healthz: deps.health,
    readyz: deps.readiness && ((query) => deps.readiness!.healthWithin(query)),
  });
  const { httpPort } = await scope.use(
    "RPC server",
    () => namingPorts({ "rpc.port": rpc.port }, () => server.listen()),
    () => server.close(),
  );
  ready = createProposer(options, { ...deps, signer }, clients, scope.signal, (what) => (waitingFor = what)).then((created) => {
    proposer = created;
    if (created !== undefined && !proposals.stopped) created.start();
  });
  return { rpcPort: httpPort ?? rpc.port, ready, status: () => proposer?.status() ?? { waitingFor } };
}

interface Clients {
  readonly l1: readonly RpcClient[];
  /** either these or those of super roots */
  readonly rollup: readonly RpcClient[];
  readonly superRoots: readonly RpcClient[];
}

const closeAll = (clients: readonly RpcClient[]) => Promise.all(clients.map((client) => client.close()));
const namesOf = (clients: readonly RpcClient[]): string => clients.map(({ endpoint }) => endpoint).join(",");

type Waiting = Parameters<typeof untilAnswered>[2];

/** @returns undefined if it was closed while it waited for an endpoint */
async function createProposer(
  options: RproposerOptions,
  { clock, log, metrics: factory, feed, signer }: StartDeps & { readonly signer: Signer },
  clients: Clients,
  signal: AbortSignal,
  onWait: (what: string) => void,
): Promise<Proposer | undefined> {
  const waiting = { clock, log, signal, onWait };
  const metrics = createProposerMetrics(factory);
  const l1Endpoint = { option: "--l1-eth-rpc", what: "L1 execution client", address: namesOf(clients.l1) };
  const origin =
    clients.superRoots.length > 0
      ? await superRootOrigin(clients, l1Endpoint, waiting)
      : await outputRootOrigin(options, clients, waiting);
  if (origin === undefined) return undefined;
  const l1 = connectL1(origin.l1ChainId, clients.l1, { clock, log: log.child({ part: "l1" }), metrics: metrics.l1 });
  const stated = await untilAnswered(() => l1.endpoints.chainIds(), l1Endpoint, waiting);
  if (stated === undefined) return undefined;
  // One that does not answer now is asked again before it is used.
  for (const { chainId = origin.l1ChainId } of stated) {
    if (chainId === origin.l1ChainId) continue;
    const data = { option: "--l1-eth-rpc", what: "L1 chain id", got: chainId, expected: origin.l1ChainId };
    throw new RollupClientError("rollup-client/wrong-chain", data);
  }
  return withContract(options, { clock, log, metrics, feed, signer, origin, l1, waiting, l1Endpoint });
}

/** Where roots come from, and what is known of their chain. */
interface Origin {
  readonly source: ProposalSource;
  readonly l1ChainId: bigint;
  /** undefined: not known, or of a set of chains */
  readonly l2ChainId: bigint | undefined;
  readonly portal: Uint8Array | undefined;
}

async function outputRootOrigin(options: RproposerOptions, clients: Clients, waiting: Waiting): Promise<Origin | undefined> {
  const { clock, log } = waiting;
  const nodes = clients.rollup.map((rpc) => new RpcRollupNode(rpc));
  const active = new ActiveSequencer({ checkIntervalMs: options.endpoints.activeSequencerCheckDurationMs }, nodes, {
    clock,
    onChange: (name) => log.info("another sequencer is active", { node: name }),
  });
  const node = async (): Promise<RpcRollupNode> => nodes[await active.index()]!;
  const endpoint = { option: "--rollup-rpc", what: "rollup node", address: namesOf(clients.rollup) };
  const rollup = await untilAnswered(async () => (await node()).rollupConfig(), endpoint, waiting);
  if (rollup === undefined) return undefined;
  const { l1ChainId, l2ChainId, depositContractAddress: portal } = rollup;
  return { source: new OutputRootSource({ node, onFailure: () => active.recheck() }), l1ChainId, l2ChainId, portal };
}

/** A rollup node as source knows its L1. A verifier of several chains does not: then the first L1 endpoint says which L1 it is. */
async function superRootOrigin(
  clients: Clients,
  l1Endpoint: Parameters<typeof untilAnswered>[1],
  waiting: Waiting,
): Promise<Origin | undefined> {
  const source = new SuperRootSource(
    clients.superRoots.map((rpc) => new RpcSuperRootSource(rpc)),
    waiting,
  );
  const endpoint = { option: "--superroot-rpcs", what: "source of super roots", address: namesOf(clients.superRoots) };
  if ((await untilAnswered(() => source.status(), endpoint, waiting)) === undefined) return undefined;
  const rollup = await firstRollupConfig(clients.superRoots);
  const l1ChainId = rollup?.l1ChainId ?? (await untilAnswered(() => firstChainId(clients.l1), l1Endpoint, waiting));
  return l1ChainId === undefined ? undefined : { source, l1ChainId, l2ChainId: rollup?.l2ChainId, portal: undefined };
}

async function firstRollupConfig(clients: readonly RpcClient[]): Promise<RollupConfig | undefined> {
  const asked = await Promise.allSettled(clients.map((rpc) => new RpcRollupNode(rpc).rollupConfig()));
  return asked.find((answer) => answer.status === "fulfilled")?.value;
}

/** That of the first endpoint that answers. */
async function firstChainId(clients: readonly RpcClient[]): Promise<bigint> {
  const failures: unknown[] = [];
  for (const client of clients) {
    try {
      return jsonQuantity64(await client.call("eth_chainId"), "eth_chainId");
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures[0];
}

interface Connected {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ProposerMetrics;
  readonly feed: StartDeps["feed"];
  readonly signer: Signer;
  readonly origin: Origin;
  readonly l1: L1Connection;
  readonly waiting: Waiting;
  readonly l1Endpoint: Parameters<typeof untilAnswered>[1];
}

async function withContract(options: RproposerOptions, connected: Connected): Promise<Proposer | undefined> {
  const { clock, log, metrics, feed, signer, origin, l1, waiting, l1Endpoint } = connected;
  const { source, l1ChainId, l2ChainId, portal } = origin;
  const reader = new L1ContractClient(l1.endpoints);
  const transactions = new TransactionManager(options.transactions, {
    l1ChainId,
    l1: l1.account,
    signer,
    clock,
    log,
    metrics: metrics.transactions,
    feed,
  });
  const { rootKind } = source;
  const contract = await untilAnswered(
    () => findContract(options.proposals, { reader, proposer: transactions.address, portal, rootKind, clock }),
    l1Endpoint,
    waiting,
    (error) => error instanceof ProposerError,
  );
  if (contract === undefined) return undefined;
  log.info("rproposer is ready", {
    version: VERSION,
    l1ChainId,
    l2ChainId,
    proposes: rootKind,
    proposer: bytesToHex(transactions.address),
    contract: contract.kind,
    address: bytesToHex(contract.address),
  });
  const pendingLimitMs = PENDING_REPLACEMENTS * options.transactions.resubmissionTimeoutMs;
  return new Proposer(
    { ...options.proposals, pendingLimitMs },
    {
      contract,
      source,
      l1: {
        head: () => l1.account.head(),
        nonce: (address, block) => l1.account.nonce(address, block),
        balance: (address) => l1.account.balance(address),
        simulate: (call) => reader.simulate(call),
      },
      transactions,
      clock,
      log,
      metrics,
    },
  );
}
