import { createRpcClient, createRpcServer, type RpcClient, withModules } from "@rnode/jsonrpc";
import { L1ContractClient } from "@rnode/l1";
import { ActiveSequencer, RollupClientError, RpcRollupNode, untilAnswered } from "@rnode/node-clients";
import type { Feed, LogFields, Logger, MetricFactory } from "@rnode/observe";
import { bytesToHex, type Clock } from "@rnode/primitives";
import { connectionBudget, type Health, namingPorts, type Readiness, type Scope } from "@rnode/program";
import type { RollupConfig } from "@rnode/protocol";
import { openSigner, type Signer } from "@rnode/signer";
import { connectL1, type L1Connection, TransactionManager } from "@rnode/tx-manager";
import { proposerMethods } from "./admin-rpc.ts";
import { findContract } from "./find-contract.ts";
import type { RproposerOptions } from "./options.ts";
import { Proposer } from "./proposer.ts";
import { ProposerError } from "./proposer-error.ts";
import { createProposerMetrics, type ProposerMetrics } from "./proposer-metrics.ts";
import { VERSION } from "./version.ts";

export interface StartDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** for `GET /healthz` */
  readonly health: () => Health;
  /** for `GET /readyz` */
  readonly readiness?: Pick<Readiness, "health"> | undefined;
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
  const clients: Clients = { l1: options.endpoints.l1EthRpc.map(clientOf), rollup: options.endpoints.rollupRpc.map(clientOf) };
  scope.onClose("endpoints", () => Promise.all([...clients.l1, ...clients.rollup].map((client) => client.close())));
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
    readyz: deps.readiness && (() => deps.readiness!.health),
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
  readonly rollup: readonly RpcClient[];
}

const namesOf = (clients: readonly RpcClient[]): string => clients.map(({ endpoint }) => endpoint).join(",");

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
  const nodes = clients.rollup.map((rpc) => new RpcRollupNode(rpc));
  const active = new ActiveSequencer({ checkIntervalMs: options.endpoints.activeSequencerCheckDurationMs }, nodes, {
    clock,
    onChange: (name) => log.info("another sequencer is active", { node: name }),
  });
  const node = async (): Promise<RpcRollupNode> => nodes[await active.index()]!;
  const rollupEndpoint = { option: "--rollup-rpc", what: "rollup node", address: namesOf(clients.rollup) };
  const rollup = await untilAnswered(async () => (await node()).rollupConfig(), rollupEndpoint, waiting);
  if (rollup === undefined) return undefined;
  const l1 = connectL1(rollup.l1ChainId, clients.l1, { clock, log: log.child({ part: "l1" }), metrics: metrics.l1 });
  const l1Endpoint = { option: "--l1-eth-rpc", what: "L1 execution client", address: namesOf(clients.l1) };
  const stated = await untilAnswered(() => l1.endpoints.chainIds(), l1Endpoint, waiting);
  if (stated === undefined) return undefined;
  // One that does not answer now is asked again before it is used.
  for (const { chainId = rollup.l1ChainId } of stated) {
    if (chainId === rollup.l1ChainId) continue;
    const data = { option: "--l1-eth-rpc", what: "L1 chain id", got: chainId, expected: rollup.l1ChainId };
    throw new RollupClientError("rollup-client/wrong-chain", data);
  }
  return withContract(options, { clock, log, metrics, feed, signer, rollup, l1, active, node, waiting, l1Endpoint });
}

interface Connected {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ProposerMetrics;
  readonly feed: StartDeps["feed"];
  readonly signer: Signer;
  readonly rollup: RollupConfig;
  readonly l1: L1Connection;
  readonly active: ActiveSequencer;
  readonly node: () => Promise<RpcRollupNode>;
  readonly waiting: Parameters<typeof untilAnswered>[2];
  readonly l1Endpoint: Parameters<typeof untilAnswered>[1];
}

async function withContract(options: RproposerOptions, connected: Connected): Promise<Proposer | undefined> {
  const { clock, log, metrics, feed, signer, rollup, l1, active, node, waiting, l1Endpoint } = connected;
  const reader = new L1ContractClient(l1.endpoints);
  const transactions = new TransactionManager(options.transactions, {
    l1ChainId: rollup.l1ChainId,
    l1: l1.account,
    signer,
    clock,
    log,
    metrics: metrics.transactions,
    feed,
  });
  const contract = await untilAnswered(
    () => findContract(options.proposals, { reader, proposer: transactions.address, portal: rollup.depositContractAddress, clock }),
    l1Endpoint,
    waiting,
    (error) => error instanceof ProposerError,
  );
  if (contract === undefined) return undefined;
  log.info("rproposer is ready", {
    version: VERSION,
    l1ChainId: rollup.l1ChainId,
    l2ChainId: rollup.l2ChainId,
    proposer: bytesToHex(transactions.address),
    contract: contract.kind,
    address: bytesToHex(contract.address),
  });
  const pendingLimitMs = PENDING_REPLACEMENTS * options.transactions.resubmissionTimeoutMs;
  return new Proposer(
    { ...options.proposals, pendingLimitMs },
    {
      contract,
      node,
      onNodeFailure: () => active.recheck(),
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
