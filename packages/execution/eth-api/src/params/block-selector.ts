import type { BlockSelector } from "@rnode/chain";
import {
  booleanShape,
  countShape,
  hashShape,
  objectShape,
  QUANTITY_PATTERN,
  type Shape,
  ShapeError,
  shape,
  shown,
} from "@rnode/jsonrpc";

const TAGS = ["latest", "pending", "safe", "finalized", "earliest"] as const;
const EXPECTED = `a block number as hex quantity, or one of ${TAGS.join(", ")}`;

/** What Reth calls the block in requests by name. */
export const BLOCK_ALIASES = ["blockNumber", "block_number"] as const;

export const LATEST: BlockSelector = { kind: "tag", tag: "latest" };

const TAG_SELECTORS: ReadonlyMap<unknown, BlockSelector> = new Map(TAGS.map((tag) => [tag, { kind: "tag", tag }]));

function tagOrNumber(value: unknown): BlockSelector | undefined {
  const tagged = TAG_SELECTORS.get(value);
  if (tagged !== undefined) return tagged;
  if (typeof value !== "string" || !/^0x[0-9a-fA-F]{1,16}$/.test(value)) return undefined;
  return { kind: "number", number: countShape.parse(value) };
}

/** A tag or a number, as `eth_getBlockByNumber` takes it. */
export const blockNumberShape: Shape<BlockSelector> = shape(
  {
    oneOf: [
      { title: "Block number", type: "string", pattern: QUANTITY_PATTERN },
      { title: "Block tag", enum: TAGS },
    ],
  },
  (value) => {
    const selector = tagOrNumber(value);
    if (selector === undefined) throw new ShapeError(`expected ${EXPECTED}, got ${shown(value)}`);
    return selector;
  },
);

const byHash = objectShape({ blockHash: hashShape }, { requireCanonical: booleanShape });
const byNumber = objectShape({ blockNumber: blockNumberShape }, {});

/** A tag, a number, a hash, or an EIP-1898 object. */
export const blockSelectorShape: Shape<BlockSelector> = shape(
  { oneOf: [...(blockNumberShape.schema.oneOf as object[]), { title: "Block hash", ...hashShape.schema }, byHash.schema] },
  (value) => {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      const hasHash = "blockHash" in value && value.blockHash !== null && value.blockHash !== undefined;
      const hasNumber = "blockNumber" in value && value.blockNumber !== null && value.blockNumber !== undefined;
      if (hasHash && hasNumber) throw new ShapeError("blockHash and blockNumber exclude each other");
      if (hasNumber) return byNumber.parse(value).blockNumber;
      const { blockHash, requireCanonical } = byHash.parse(value);
      return { kind: "hash", hash: blockHash, requireCanonical: requireCanonical ?? false };
    }
    if (typeof value === "string" && value.length === 66)
      return { kind: "hash", hash: hashShape.parse(value), requireCanonical: false };
    const selector = tagOrNumber(value);
    if (selector === undefined) throw new ShapeError(`expected ${EXPECTED}, or a block hash, got ${shown(value)}`);
    return selector;
  },
);
