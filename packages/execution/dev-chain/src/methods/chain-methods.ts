import { type ApiMethods, method } from "@rnode/eth-api";
import {
  anyJson,
  arrayShape,
  booleanShape,
  dataShape,
  hashShape,
  type JsonSchema,
  objectShape,
  optionalParam,
  param,
  RpcError,
  SERVER_ERROR,
  type Shape,
  ShapeError,
  shape,
} from "@rnode/jsonrpc";
import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import type { BlobStore } from "../beacon/blob-store.ts";
import type { DevChainAccess } from "../block-maker.ts";
import type { DevChain } from "../dev-chain.ts";
import { ANYTHING, DONE, NOTHING, QUANTITY_RESULT, smallAmountShape } from "./shapes.ts";

export interface ChainMethodsDeps {
  readonly dev: DevChain;
  readonly chain: DevChainAccess;
  readonly blobs: BlobStore;
  /** Takes in a raw transaction. @throws {RpcError} */
  readonly submit: (raw: Uint8Array) => Promise<unknown>;
  /** Adds an unsigned transaction with the given fields. @throws {RpcError} */
  readonly send: (request: unknown) => Promise<unknown>;
  /** whether blocks are logged */
  readonly setLogging: (isOn: boolean) => void;
  readonly clientVersion: string;
  readonly setChainId: (chainId: bigint) => void;
  /** of this run */
  readonly instanceId: string;
  /** `undefined`: it is no fork */
  readonly fork: ForkFacts | undefined;
  /** Serves a fork instead of this chain. @throws {RpcError} this chain stays */
  readonly replaceFork: (forking: Forking) => Promise<void>;
}

/** The chain and block of the fork. */
export interface ForkFacts {
  /** without the path, which may hold a key */
  readonly url: string;
  readonly chainId: number;
  readonly number: number;
  readonly hash: Hex;
}

/** What to fork. */
export interface Forking {
  /** default: the endpoint of now */
  readonly url: string | undefined;
  /** default: the latest */
  readonly blockNumber: number | undefined;
}

const MAX_DEPTH = 100_000;
const MAX_PAIRS = 10_000;

const reorgShape = objectShape(
  { depth: smallAmountShape },
  { blocks: smallAmountShape, keepTransactions: booleanShape, force: booleanShape },
);

/** `[transaction, index of the new block]`, the transaction raw or as an object */
const pairShape: Shape<{ readonly transaction: unknown; readonly index: number }> = shape({ type: "array" }, (value) => {
  if (!Array.isArray(value) || value.length !== 2) throw new ShapeError("expected [transaction, block]");
  return { transaction: value[0], index: smallAmountShape.parse(value[1]) };
});

const rollbackShape: Shape<{ readonly depth: number } | { readonly number: number } | { readonly hash: Uint8Array }> = shape(
  { oneOf: [smallAmountShape.schema, { type: "object" }] satisfies JsonSchema[] },
  (value) => {
    if (typeof value !== "object" || value === null) return { depth: smallAmountShape.parse(value) };
    const { depth, number, hash } = value as { depth?: unknown; number?: unknown; hash?: unknown };
    if (hash !== undefined) return { hash: hashShape.parse(hash) };
    return number === undefined ? { depth: smallAmountShape.parse(depth ?? 1) } : { number: smallAmountShape.parse(number) };
  },
);

/** blocks by number, blobs by versioned hash */
const lostShape = objectShape({}, { blocks: arrayShape(smallAmountShape), versionedHashes: arrayShape(hashShape) });

/** Snapshots, reorgs, blobs, and information about the chain. */
export function chainMethods({
  dev,
  chain,
  blobs,
  submit,
  send,
  setLogging,
  clientVersion,
  setChainId,
  instanceId,
  fork,
  replaceFork,
}: ChainMethodsDeps): ApiMethods {
  const depthBelow = (number: number): number => {
    const depth = chain.head().number - number;
    if (depth < 0) throw new RpcError(SERVER_ERROR, `there is no block ${number} yet`);
    return depth;
  };
  return {
    evm_snapshot: method({
      runs: "writer",
      result: QUANTITY_RESULT("id"),
      params: [],
      summary: "Remembers the chain, its state and its clock; the answer is for evm_revert.",
      handler: () => toQuantity(dev.snapshot()),
    }),
    evm_revert: method({
      runs: "writer",
      result: DONE,
      params: [param("id", smallAmountShape)],
      summary: "Goes back to a snapshot, which is then gone, as are all later ones. false: there is none.",
      handler: ([id]) => dev.revert(id),
    }),
    anvil_reset: method({
      runs: "writer",
      result: NOTHING,
      params: [optionalParam("options", anyJson)],
      summary:
        "Goes back to the first block; the pool is emptied. With {forking: {jsonRpcUrl, blockNumber}}, another fork is served from then on.",
      handler: ([options]) => {
        const forking = forkingOf(options);
        return forking === undefined ? dev.reset() : replaceFork(forking);
      },
    }),
    anvil_setRpcUrl: method({
      runs: "writer",
      result: NOTHING,
      params: [param("url", anyJson)],
      summary: "Refused: anvil_reset takes another endpoint.",
      handler: () => {
        throw new RpcError(SERVER_ERROR, NO_FORKING);
      },
    }),
    anvil_setChainId: method({
      runs: "writer",
      result: NOTHING,
      params: [param("chainId", smallAmountShape)],
      summary: "Another chain id from the next block on, until the program ends; the pool is emptied.",
      handler: ([chainId]) => {
        if (chainId === 0) throw new RpcError(SERVER_ERROR, "chain id 0: expected 1 or more");
        dev.emptyPool();
        setChainId(BigInt(chainId));
        chain.announceEdits();
      },
    }),
    anvil_setLoggingEnabled: method({
      runs: "writer",
      result: NOTHING,
      params: [param("enabled", booleanShape)],
      summary: "Whether blocks are logged.",
      handler: ([enabled]) => setLogging(enabled),
    }),
    anvil_rollback: method({
      runs: "writer",
      result: NOTHING,
      params: [optionalParam("to", rollbackShape)],
      summary:
        "Takes the last block back, or as many as are said, or those after a block ({number} or {hash}); their transactions are lost.",
      handler: ([to = { depth: 1 }]) => {
        if ("depth" in to) return dev.rollback(to.depth, true, false);
        if ("number" in to) return dev.rollback(depthBelow(to.number), true, false);
        const found = chain.headerOf({ kind: "hash", hash: to.hash, requireCanonical: true });
        if (found === undefined) throw new RpcError(SERVER_ERROR, `no block ${bytesToHex(to.hash)} on the chain`);
        dev.rollback(depthBelow(found.header.number), true, false);
      },
    }),
    anvil_reorg: method({
      runs: "writer",
      result: NOTHING,
      params: [param("depth", smallAmountShape), optionalParam("transactions", arrayShape(pairShape, { maxItems: MAX_PAIRS }))],
      summary:
        "Replaces the last blocks by as many others, which have the given transactions only ([raw or object, index of the new block]).",
      handler: async ([depth, pairs = []]) => {
        const tooFar = pairs.find(({ index }) => index >= depth);
        if (tooFar !== undefined)
          throw new RpcError(SERVER_ERROR, `a transaction is for block ${tooFar.index} of ${depth} new blocks`);
        dev.rollback(depth, true, false);
        await dev.withoutMining(async () => {
          for (let index = 0; index < depth; index++) {
            for (const { transaction, index: at } of pairs) {
              if (at !== index) continue;
              await (typeof transaction === "string" ? submit(dataShape.parse(transaction)) : send(transaction));
            }
            dev.maker.make();
          }
        });
      },
    }),
    dev_reorg: method({
      runs: "writer",
      result: ANYTHING("head"),
      params: [param("what", reorgShape)],
      summary:
        "Replaces the last `depth` blocks by `blocks` others (as many), in the same slots; their transactions go in again unless `keepTransactions` is false. Not below the finalized block without `force`.",
      handler: ([{ depth, blocks = depth, keepTransactions = true, force = false }]) => {
        if (depth > MAX_DEPTH || blocks > MAX_DEPTH) throw new RpcError(SERVER_ERROR, `at most ${MAX_DEPTH} blocks`);
        dev.reorg({ depth, blocks, keepsTransactions: keepTransactions, isForced: force });
        const { number, hash } = chain.head();
        return { number: toQuantity(number), hash };
      },
    }),
    dev_loseBlobs: method({
      runs: "writer",
      result: ANYTHING("blobs"),
      params: [param("which", lostShape)],
      summary: "The blobs of blocks ({blocks: [numbers]}) or those named ({versionedHashes}) cannot be read any more.",
      handler: ([{ blocks = [], versionedHashes = [] }]) => dev.setBlobsLost(blocks, versionedHashes, true),
    }),
    dev_restoreBlobs: method({
      runs: "writer",
      result: ANYTHING("blobs"),
      params: [optionalParam("which", lostShape)],
      summary: "Undoes dev_loseBlobs, for all blobs if none are named.",
      handler: ([which]) =>
        dev.setBlobsLost(which?.blocks ?? [], which === undefined ? blobs.lost() : (which.versionedHashes ?? []), false),
    }),
    anvil_getBlobByHash: method({
      runs: "writer",
      result: ANYTHING("blob"),
      params: [param("versionedHash", hashShape)],
      summary: "A blob of a block; null: it is not here.",
      handler: ([hash]) => {
        const found = blobs.read(hash);
        return found === undefined ? null : bytesToHex(found.blob);
      },
    }),
    anvil_nodeInfo: method({
      runs: "writer",
      result: ANYTHING("node"),
      params: [],
      summary: "The latest block, and what the next ones will be like.",
      handler: () => {
        const { header, hash } = dev.maker.head;
        const baseFee = toQuantity(dev.maker.nextBaseFee);
        return {
          currentBlockNumber: toQuantity(header.number),
          currentBlockTimestamp: header.timestamp,
          currentBlockHash: bytesToHex(hash),
          hardFork: dev.fork,
          transactionOrder: "fees",
          environment: {
            baseFee,
            chainId: Number(chain.config.chainId),
            gasLimit: toQuantity(dev.maker.gasLimit),
            gasPrice: baseFee,
          },
          forkConfig: { forkUrl: fork?.url ?? null, forkBlockNumber: fork?.number ?? null, forkRetryBackoff: null },
        };
      },
    }),
    anvil_metadata: method({
      runs: "writer",
      result: ANYTHING("metadata"),
      params: [],
      summary: "What this node is, and its latest block.",
      handler: () => {
        const { number, hash } = chain.head();
        return {
          clientVersion,
          chainId: Number(chain.config.chainId),
          instanceId,
          latestBlockNumber: number,
          latestBlockHash: hash,
          forkedNetwork:
            fork === undefined ? null : { chainId: fork.chainId, forkBlockNumber: fork.number, forkBlockHash: fork.hash },
          snapshots: dev.snapshots(),
        };
      },
    }),
  };
}

const NO_FORKING = "the endpoint of a fork stays: anvil_reset {forking: {jsonRpcUrl, blockNumber}} begins another fork";

/** @returns undefined: reset to the first block, also where tools send an empty `forking` @throws {ShapeError} */
function forkingOf(options: unknown): Forking | undefined {
  const { forking } = (options ?? {}) as { readonly forking?: unknown };
  const { jsonRpcUrl, blockNumber } = (forking ?? {}) as { readonly jsonRpcUrl?: unknown; readonly blockNumber?: unknown };
  const [hasUrl, hasBlock] = [jsonRpcUrl ?? null, blockNumber ?? null].map((each) => each !== null);
  if (!hasUrl && !hasBlock) return undefined;
  if (hasUrl && typeof jsonRpcUrl !== "string") throw new ShapeError("forking.jsonRpcUrl: expected a URL");
  return {
    url: hasUrl ? (jsonRpcUrl as string) : undefined,
    blockNumber: hasBlock ? smallAmountShape.parse(blockNumber) : undefined,
  };
}
