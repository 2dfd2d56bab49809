import { bytesToHex, type Hex, isCodedError } from "@rnode/primitives";
import {
  type ChainConfig,
  chainConfigOfNetwork,
  decodeBlock,
  type JsonParser,
  jsonBytes,
  jsonObject,
  networkByChainId,
  parseChainConfig,
  requiredField,
} from "@rnode/protocol";
import { ChainError } from "../faults.ts";
import { PreparedBlock } from "../prepared-block.ts";
import { parseWitness } from "./stateless.ts";
import type { WitnessedBlock } from "./verify-block.ts";

/*
 * A block with its witness, as a file: docs/stateless-block.md#a-finished-block
 *   { "chain": name of a network, or the config of a genesis file, "block": RLP, "witness": { state, codes, headers } }
 */

/** @throws {CodedError} json/invalid naming the key, chain/bad-block-file, network/unknown */
export function parseWitnessFile(json: unknown): WitnessedBlock {
  const object = jsonObject(json, "file");
  return {
    config: requiredField(object, "", "chain", parseChain),
    block: requiredField(object, "", "block", parseBlock),
    witness: requiredField(object, "", "witness", parseWitness),
  };
}

/** Whether a file has a finished block, rather than what one is built from. */
export const isWitnessFile = (json: unknown): boolean => typeof json === "object" && json !== null && "block" in json;

const parseChain: JsonParser<ChainConfig> = (value, path) =>
  typeof value === "string" ? chainConfigOfNetwork(value) : parseChainConfig(value, path);

const parseBlock: JsonParser<PreparedBlock> = (value, path) => {
  try {
    return new PreparedBlock(decodeBlock(jsonBytes()(value, path)));
  } catch (cause) {
    if (!isCodedError(cause)) throw cause;
    throw new ChainError("chain/bad-block-file", { reason: `${path}: ${cause.message}` });
  }
};

/** Asks a node. */
export type RpcCall = <T>(method: string, params: readonly unknown[]) => Promise<T>;

/**
 * Asks a node for a block with its witness, in the form of a file.
 *
 * @param block number, tag or hash
 * @param chain name of a network, or the config of a genesis file; default: the network that has the node's chain id
 * @throws {CodedError} chain/unknown-network, chain/no-block; what `call` throws
 */
export async function fetchWitnessFile(call: RpcCall, block: string, chain?: unknown): Promise<object> {
  const named = chain ?? networkByChainId(BigInt(await call<Hex>("eth_chainId", [])))?.name;
  if (named === undefined) throw new ChainError("chain/unknown-network");
  const isHash = /^0x[0-9a-fA-F]{64}$/.test(block);
  const found = await call<{ readonly hash: Hex } | null>(isHash ? "eth_getBlockByHash" : "eth_getBlockByNumber", [block, false]);
  if (found === null) throw new ChainError("chain/no-block", { block });
  // By hash, so that block and witness belong together while the chain advances.
  const rlp = await call<Hex>("debug_getRawBlock", [found.hash]);
  const witness = await call<object>("debug_executionWitnessByBlockHash", [found.hash]);
  return { chain: named, hash: bytesToHex(new PreparedBlock(decodeBlock(jsonBytes()(rlp, "block"))).hash), block: rlp, witness };
}
