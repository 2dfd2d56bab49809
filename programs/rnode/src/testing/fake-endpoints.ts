import { anyJson, createRpcServer, type MethodTable, method, optionalParam, param, type RpcServer } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { bytesToHex, toQuantity } from "@rnode/primitives";
import { type Header, hashHeader } from "@rnode/protocol";
import { headerJson, headerOf } from "@rnode/protocol/testing";

export const HEADER = headerOf({});
/** The header of an L2 block without transactions. */
export const L2_HEADER = headerOf({ baseFeePerGas: 1n });
export const JOVIAN_HEADER = headerOf({
  baseFeePerGas: 1n,
  extraData: Uint8Array.of(1, ...new Uint8Array(16)),
  withdrawalsRoot: new Uint8Array(32),
  blobGasUsed: 0n,
  excessBlobGas: 0n,
  parentBeaconBlockRoot: new Uint8Array(32),
  requestsHash: new Uint8Array(32),
});
export const GENESIS_HASH = bytesToHex(hashHeader(HEADER));
export const L2_GENESIS_HASH = bytesToHex(hashHeader(L2_HEADER));
const blockJson = (header: Header) => ({ ...headerJson(header), hash: bytesToHex(hashHeader(header)), transactions: [] });

export interface EndpointOptions {
  /** methods it does not have */
  readonly without?: readonly string[];
  readonly jwtSecret?: Uint8Array;
  readonly header?: Header;
  /** blocks after that one */
  readonly further?: readonly Header[];
  /** further methods */
  readonly methods?: MethodTable;
  /** collects the fork choices it receives */
  readonly told?: unknown[];
}

/** Empty blocks of L1 on top of `HEADER`. */
export function emptyL1Blocks(count: number): Header[] {
  const blocks: Header[] = [];
  for (let number = 1; number <= count; number++) {
    const parentHash = hashHeader(blocks.at(-1) ?? HEADER);
    blocks.push(headerOf({ number, parentHash, timestamp: 12 * number }));
  }
  return blocks;
}

/** An endpoint for a chain with one block, and those that the options add. */
export async function endpoint(
  chainId: number,
  { jwtSecret, header = HEADER, further = [], told = [], without = [], methods: more = {} }: EndpointOptions = {},
): Promise<{ url: string; server: RpcServer }> {
  const blocks = [header, ...further];
  const blockAt = (label: unknown) => {
    if (label === "safe" || label === "finalized") return blockJson(header);
    const found = label === undefined || label === "latest" ? blocks.at(-1) : blocks[Number(label)];
    return found === undefined ? null : blockJson(found);
  };
  const methods: MethodTable = {
    eth_chainId: method({ params: [], handler: () => toQuantity(chainId) }),
    eth_getBlockByNumber: method({
      params: [optionalParam("number", anyJson), optionalParam("full", anyJson)],
      handler: ([label]) => blockAt(label),
    }),
    eth_getBlockByHash: method({
      params: [param("hash", anyJson), param("full", anyJson)],
      handler: ([hash]) => blockJson(blocks.find((block) => bytesToHex(hashHeader(block)) === hash) ?? header),
    }),
    engine_forkchoiceUpdatedV3: method({
      params: [param("state", anyJson), optionalParam("attributes", anyJson)],
      handler: ([state]) => {
        told.push(state);
        return {
          payloadStatus: { status: "VALID", latestValidHash: bytesToHex(hashHeader(header)), validationError: null },
          payloadId: null,
        };
      },
    }),
    ...more,
  };
  const server = createRpcServer({
    http: { host: "127.0.0.1", port: 0 },
    methods: Object.fromEntries(Object.entries(methods).filter(([name]) => !without.includes(name))),
    log: silentLogger,
    ...(jwtSecret === undefined ? {} : { jwtSecret }),
  });
  const { httpPort } = await server.listen();
  return { url: `http://127.0.0.1:${httpPort}`, server };
}
