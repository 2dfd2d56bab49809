import type { RpcClient } from "@rnode/jsonrpc";
import { L1AccountClient, L1Client, L1Endpoints, type L1Log, type L1Metrics } from "@rnode/l1";
import type { Clock } from "@rnode/primitives";

/** L1 for a program that sends transactions: blocks that matter are checked, the next endpoint is used when one fails. */
export interface L1Connection {
  readonly endpoints: L1Endpoints;
  readonly blocks: L1Client;
  readonly account: L1AccountClient;
}

/** Number of L1 blocks to cache: blocks with own transactions, until they are confirmed. */
const CACHE_SIZE = 64;

/** @param clients of the endpoints, the preferred one first; closed by the caller */
export function connectL1(
  chainId: bigint,
  clients: readonly RpcClient[],
  deps: { readonly clock: Clock; readonly log: L1Log; readonly metrics: L1Metrics },
): L1Connection {
  // One attempt per endpoint and request, because the callers retry.
  const endpoints = new L1Endpoints(
    { chainId, maxAttempts: clients.length },
    { endpoints: clients.map((rpc) => ({ name: rpc.endpoint, rpc })), ...deps },
  );
  const blocks = new L1Client(
    { trustRpc: false, rpcKind: "standard", cacheSize: CACHE_SIZE },
    { endpoints, clock: deps.clock, log: deps.log },
  );
  return { endpoints, blocks, account: new L1AccountClient({ endpoints, l1: blocks }) };
}
