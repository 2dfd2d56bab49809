import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import { RpcRollupNode } from "@rnode/node-clients";
import type { FollowSource } from "./follow-source.ts";

/** A status or a rollup configuration takes a few kB. */
const MAX_ANSWER_BYTES = 1024 * 1024;

export interface SourceConnection {
  readonly source: FollowSource;
  close(): Promise<void>;
}

/** @param counting the client whose requests are counted; default: the same */
export function connectSource(
  { url, timeoutMs }: { readonly url: string; readonly timeoutMs: number },
  counting: (client: RpcClient) => RpcClient = (client) => client,
): SourceConnection {
  const rpc = counting(createRpcClient({ url, timeoutMs, maxResponseBytes: MAX_ANSWER_BYTES, maxConcurrency: 1 }));
  return { source: new RpcRollupNode(rpc, "optimism"), close: () => rpc.close() };
}
