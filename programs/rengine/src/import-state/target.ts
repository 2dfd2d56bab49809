import { bytesToHex, EMPTY_TRIE_ROOT, equalBytes, hexToBytes, isCodedError } from "@rnode/primitives";
import { type CommandIo, UserError } from "@rnode/program";
import { type Block, hashHeader } from "@rnode/protocol";
import { collectLastBlocks, type LastBlocks } from "@rnode/snapshot";
import { type ChainSpec, genesisOfSpec } from "../setup/chain-spec.ts";
import type { GenesisFetch } from "../setup/published-genesis.ts";
import { knownFirstBlock } from "./bedrock.ts";
import type { Blocks, FirstBlock } from "./block-source.ts";
import { startsLater } from "./trusted-block.ts";

/** The block that the state must be of. */
export interface Target {
  readonly block: Block;
  readonly hash: Uint8Array;
  readonly genesis: FirstBlock;
  /** `undefined`: it is the chain's first one */
  readonly lastBlocks: LastBlocks | undefined;
}

interface TargetSource {
  readonly blockHash: Uint8Array;
  /** for temporary files */
  readonly folder: string;
  readonly fetch: GenesisFetch;
  /** `undefined`: there is no --blocks */
  readonly blocks: Pick<Blocks, "blockOf" | "hasReceipts"> | undefined;
  /** Called with the chain's first block, before any other block is read. */
  readonly onFirstBlock: (first: FirstBlock) => void | Promise<void>;
}

/** Finds the block, and those before it that a rollup node needs. @throws {UserError} */
export async function findTarget(spec: ChainSpec, source: TargetSource, io: CommandIo): Promise<Target> {
  const { blockHash: own, folder, blocks } = source;
  const genesis = await firstBlockOf(spec, source);
  await source.onFirstBlock(genesis);
  if (equalBytes(own, genesis.hash)) return { block: genesis.block, hash: own, genesis, lastBlocks: undefined };
  const { config } = spec;
  const onProgress = (blocks: number): void => io.progress(`blocks: ${blocks}`);
  const { blockOf, hasReceipts } = required(blocks);
  const from = { hash: own, source: blockOf, hasReceipts };
  const lastBlocks = await collectLastBlocks({ config, genesis, ...from, folder, onProgress }).catch((cause: unknown) => {
    if (!isCodedError(cause, "snapshot/false-content")) throw cause;
    throw new UserError(`--blocks: ${String(cause.data.reason)}`, { cause });
  });
  return { block: { header: lastBlocks.header, transactions: [], ommers: [] }, hash: own, genesis, lastBlocks };
}

function required(blocks: TargetSource["blocks"]): Pick<Blocks, "blockOf" | "hasReceipts"> {
  if (blocks !== undefined) return { hasReceipts: blocks.hasReceipts, blockOf: (hash) => blocks.blockOf(hash) };
  throw new UserError(
    "--blocks is required: an execution client or a file of RLP blocks that has the block of the state, and the blocks before it",
  );
}

async function firstBlockOf(spec: ChainSpec, { folder, fetch, blocks }: TargetSource): Promise<FirstBlock> {
  if (!startsLater(spec)) {
    const { block, hash, state } = await genesisOfSpec(spec, folder, fetch);
    state.close();
    return { block, hash };
  }
  const { name, genesis } = spec.network!;
  const hash = hexToBytes(genesis.l2.hash);
  const block = knownFirstBlock(genesis.l2.hash) ?? (await required(blocks).blockOf(hash))?.block;
  if (block === undefined) throw new UserError(`--blocks has no block ${genesis.l2.hash}, with which ${name} begins`);
  const got = hashHeader(block.header);
  if (!equalBytes(got, hash) || !equalBytes(block.header.transactionsRoot, EMPTY_TRIE_ROOT) || block.transactions.length > 0) {
    throw new UserError(`--blocks has another block as ${genesis.l2.hash}, with which ${name} begins: ${bytesToHex(got)}`);
  }
  return { block, hash };
}
