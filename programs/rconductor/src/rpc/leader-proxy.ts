import {
  anyJson,
  type MethodTable,
  method,
  optionalParam,
  type RpcClient,
  RpcError,
  RpcTransportError,
  SERVER_ERROR,
} from "@rnode/jsonrpc";
import type { Clock } from "@rnode/primitives";

/** As upstream refuses. */
const NOT_LEADER = "refusing to proxy request to non-leader sequencer";
const RETRY_MS = 100;
const MAX_PARAMS = 6;
/** Accepted whether or not this member leads, as in op-conductor: the next leader's sequencer then has the limits already. */
const MAX_DA_SIZE = "miner_setMaxDASize";

/** What batcher and proposer ask of a sequencer, as op-conductor passes it on; `eth_chainId` for rbatcher. */
const OWN_METHODS = {
  engine: ["eth_getBlockByNumber", "eth_chainId", MAX_DA_SIZE],
  node: ["optimism_syncStatus", "optimism_outputAtBlock", "optimism_rollupConfig", "admin_sequencerActive"],
} as const;

const params = Array.from({ length: MAX_PARAMS }, (_, index) => optionalParam(`param${index}`, anyJson));

const given = (args: readonly unknown[]): readonly unknown[] => {
  const last = args.findLastIndex((arg) => arg !== undefined);
  return args.slice(0, last + 1).map((arg) => arg ?? null);
};

export interface OwnProxyDeps {
  readonly node: Pick<RpcClient, "call">;
  readonly engine: Pick<RpcClient, "call">;
  readonly isLeader: () => boolean;
}

/** Methods of this conductor's own sequencer. They are answered only while it leads. */
export function ownProxyMethods(deps: OwnProxyDeps): MethodTable {
  const table = (["engine", "node"] as const).flatMap((side) =>
    OWN_METHODS[side].map((name) => {
      const handler = async (args: readonly unknown[]): Promise<unknown> => {
        const answer = await passedOn(() => deps[side].call(name, given(args)));
        // Afterwards: leadership may have ended while the answer was made.
        if (name !== MAX_DA_SIZE && !deps.isLeader()) throw new RpcError(SERVER_ERROR, NOT_LEADER);
        return answer;
      };
      return [name, method({ params, summary: "Passed on to this conductor's own sequencer while it leads.", handler })] as const;
    }),
  );
  return Object.fromEntries(table);
}

/** What users may ask of the leader's execution client; nothing of it does harm when it is asked twice but what sends. */
const USER_ETH = [
  "accounts",
  "blobBaseFee",
  "blockNumber",
  "call",
  "chainId",
  "createAccessList",
  "estimateGas",
  "feeHistory",
  "gasPrice",
  "getBalance",
  "getBlockByHash",
  "getBlockByNumber",
  "getBlockReceipts",
  "getBlockTransactionCountByHash",
  "getBlockTransactionCountByNumber",
  "getCode",
  "getLogs",
  "getProof",
  "getStorageAt",
  "getTransactionByBlockHashAndIndex",
  "getTransactionByBlockNumberAndIndex",
  "getTransactionByHash",
  "getTransactionCount",
  "getTransactionReceipt",
  "getUncleCountByBlockHash",
  "getUncleCountByBlockNumber",
  "maxPriorityFeePerGas",
  "sendRawTransaction",
  "sendRawTransactionSync",
  "simulateV1",
  "syncing",
];
const USER_METHODS = {
  executionRpc: [...USER_ETH.map((name) => `eth_${name}`), "net_version", "net_listening", "web3_clientVersion", "web3_sha3"],
  rollupRpc: [
    ...["syncStatus", "outputAtBlock", "rollupConfig", "version", "safeHeadAtL1Block"].flatMap((name) => [
      `optimism_${name}`,
      `rnode_${name}`,
    ]),
    "admin_sequencerActive",
  ],
} as const;

/** Where the leader's programs are. */
export interface LeaderAddresses {
  readonly executionRpc: string;
  /** undefined: subscriptions are disabled */
  readonly executionWs?: string | undefined;
  readonly rollupRpc: string;
}

export interface LeaderProxyOptions {
  /** how long a request waits for a leader that answers */
  readonly waitMs: number;
  /** further methods for its execution client */
  readonly furtherMethods: readonly string[];
}

export interface LeaderProxyDeps {
  /** undefined: there is no leader, or etcd has not been read yet */
  readonly leader: () => LeaderAddresses | undefined;
  readonly createClient: (url: string) => RpcClient;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
}

/** Forwards the requests of users, batchers and proposers to the leader. */
export class LeaderProxy {
  readonly #options: LeaderProxyOptions;
  readonly #deps: LeaderProxyDeps;
  readonly #clients = new Map<string, RpcClient>();

  constructor(options: LeaderProxyOptions, deps: LeaderProxyDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  get methods(): MethodTable {
    const names = { ...USER_METHODS, executionRpc: [...USER_METHODS.executionRpc, ...this.#options.furtherMethods] };
    const table = (["executionRpc", "rollupRpc"] as const).flatMap((side) =>
      names[side].map((name) => {
        const handler = (args: readonly unknown[]): Promise<unknown> => this.#ask(side, name, given(args));
        return [name, method({ params, summary: "Passed on to the leader.", handler })] as const;
      }),
    );
    return Object.fromEntries(table);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }

  async #ask(side: keyof typeof USER_METHODS, name: string, args: readonly unknown[]): Promise<unknown> {
    const { leader, clock, monotonicMs } = this.#deps;
    const endMs = monotonicMs() + this.#options.waitMs;
    for (;;) {
      const url = leader()?.[side];
      let failure: RpcError | undefined;
      if (url !== undefined) {
        try {
          return await passedOn(() => this.#clientOf(url).call(name, args));
        } catch (error) {
          // A transaction may have arrived: its sender decides whether to send it again.
          const isRepeatable = error instanceof LeaderGone && !name.startsWith("eth_send");
          if (!isRepeatable) throw error;
          failure = error;
        }
      }
      if (monotonicMs() >= endMs)
        throw failure ?? new RpcError(SERVER_ERROR, "no sequencer leads at the moment: try again in a few seconds");
      await clock.sleep(RETRY_MS);
    }
  }

  #clientOf(url: string): RpcClient {
    let client = this.#clients.get(url);
    if (client === undefined) this.#clients.set(url, (client = this.#deps.createClient(url)));
    return client;
  }
}

/** The one that was asked does not answer: it may not lead any more. */
class LeaderGone extends RpcError {}

async function passedOn<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof RpcTransportError)) throw error;
    throw new LeaderGone(SERVER_ERROR, `the sequencer does not answer: ${error.message}`, undefined, { cause: error });
  }
}
