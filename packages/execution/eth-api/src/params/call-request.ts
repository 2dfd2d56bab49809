import {
  addressShape,
  arrayShape,
  bytesShape,
  dataShape,
  hashShape,
  objectShape,
  type Shape,
  ShapeError,
  shape,
  uint64Shape,
  uint256Shape,
} from "@rnode/jsonrpc";
import { bytesToHex, equalBytes, hexToBytes } from "@rnode/primitives";
import type { AccessListEntry, Authorization } from "@rnode/protocol";

/** A transaction object as `eth_call` and similar methods take it, before anything is filled in. */
export interface CallRequest {
  readonly from: Uint8Array | undefined;
  readonly to: Uint8Array | undefined;
  readonly gas: bigint | undefined;
  readonly gasPrice: bigint | undefined;
  readonly maxFeePerGas: bigint | undefined;
  readonly maxPriorityFeePerGas: bigint | undefined;
  readonly value: bigint;
  readonly nonce: bigint | undefined;
  readonly data: Uint8Array;
  readonly accessList: readonly AccessListEntry[] | undefined;
  readonly authorizationList: readonly Authorization[] | undefined;
  readonly maxFeePerBlobGas: bigint | undefined;
  readonly blobVersionedHashes: readonly Uint8Array[] | undefined;
  readonly chainId?: bigint | undefined;
}

const accessListShape: Shape<AccessListEntry[]> = arrayShape(
  objectShape({ address: addressShape, storageKeys: arrayShape(hashShape) }, {}),
);

const authorizationShape: Shape<Authorization> = (() => {
  const shapeOfFields = objectShape(
    { chainId: uint256Shape, address: addressShape, nonce: uint64Shape, r: uint256Shape, s: uint256Shape },
    { yParity: uint64Shape, v: uint64Shape },
  );
  return shape(shapeOfFields.schema, (value) => {
    const { yParity, v, ...rest } = shapeOfFields.parse(value);
    const parity = yParity ?? v;
    if (parity === undefined) throw new ShapeError("missing", "yParity");
    if (parity > 255n) throw new ShapeError("expected at most 0xff", "yParity");
    return { ...rest, yParity: Number(parity) };
  });
})();

const fields = objectShape(
  {},
  {
    from: addressShape,
    to: addressShape,
    gas: uint64Shape,
    gasPrice: uint256Shape,
    maxFeePerGas: uint256Shape,
    maxPriorityFeePerGas: uint256Shape,
    value: uint256Shape,
    nonce: uint64Shape,
    data: dataShape,
    input: dataShape,
    accessList: accessListShape,
    authorizationList: arrayShape(authorizationShape),
    maxFeePerBlobGas: uint256Shape,
    blobVersionedHashes: arrayShape(hashShape),
    type: uint64Shape,
    chainId: uint256Shape,
  },
);

export const callRequestShape: Shape<CallRequest> = shape(fields.schema, (value) => {
  const given = fields.parse(value);
  const { data, input } = given;
  if (data !== undefined && input !== undefined && !equalBytes(data, input)) {
    throw new ShapeError('both "data" and "input" are set and not equal. Please use "input" to pass transaction call data');
  }
  // PERF: the fields are copied one by one; a copy without `type` takes as long as the rest of the parsing.
  return {
    from: given.from,
    to: given.to,
    gas: given.gas,
    gasPrice: given.gasPrice,
    maxFeePerGas: given.maxFeePerGas,
    maxPriorityFeePerGas: given.maxPriorityFeePerGas,
    value: given.value ?? 0n,
    nonce: given.nonce,
    data: input ?? data ?? new Uint8Array(0),
    accessList: given.accessList,
    authorizationList: given.authorizationList,
    maxFeePerBlobGas: given.maxFeePerBlobGas,
    blobVersionedHashes: given.blobVersionedHashes,
    chainId: given.chainId,
  };
});

export interface AccountOverride {
  readonly address: Uint8Array;
  readonly balance: bigint | undefined;
  readonly nonce: bigint | undefined;
  readonly code: Uint8Array | undefined;
  /** replaces the account's entire storage */
  readonly state: ReadonlyMap<string, Uint8Array> | undefined;
  readonly stateDiff: ReadonlyMap<string, Uint8Array> | undefined;
  /** for a precompile: the address to which it moves */
  readonly movePrecompileToAddress: Uint8Array | undefined;
}

/** A storage slot of 32 bytes. Shorter ones are padded, as in all clients. */
export const slotShape: Shape<Uint8Array> = shape({ type: "string", pattern: "^0x[0-9a-f]{1,64}$" }, (value) => {
  if (typeof value !== "string" || !/^0x[0-9a-fA-F]{0,64}$/.test(value))
    throw new ShapeError("expected a storage slot of at most 32 bytes");
  return hexToBytes(value.slice(2).padStart(64, "0"));
});

const wordMapShape: Shape<ReadonlyMap<string, Uint8Array>> = shape(
  { type: "object", additionalProperties: hashShape.schema },
  (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new ShapeError("expected an object of storage slots");
    const words = new Map<string, Uint8Array>();
    for (const [key, word] of Object.entries(value)) words.set(bytesToHex(slotShape.parse(key)), hashShape.parse(word));
    return words;
  },
);

const accountOverride = objectShape(
  {},
  {
    balance: uint256Shape,
    nonce: uint64Shape,
    code: dataShape,
    state: wordMapShape,
    stateDiff: wordMapShape,
    movePrecompileToAddress: addressShape,
  },
);

export const stateOverrideShape: Shape<AccountOverride[]> = shape(
  { type: "object", additionalProperties: accountOverride.schema },
  (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new ShapeError("expected an object of accounts");
    return Object.entries(value).map(([key, given]) => {
      try {
        const override = accountOverride.parse(given);
        if (override.state !== undefined && override.stateDiff !== undefined) throw new ShapeError("has both state and stateDiff");
        return { address: addressShape.parse(key), ...override };
      } catch (error) {
        throw error instanceof ShapeError ? error.within(key) : error;
      }
    });
  },
);

export const blockOverrideShape = objectShape(
  {},
  {
    number: uint64Shape,
    time: uint64Shape,
    gasLimit: uint64Shape,
    feeRecipient: addressShape,
    prevRandao: bytesShape(32),
    baseFeePerGas: uint256Shape,
    blobBaseFee: uint256Shape,
    difficulty: uint256Shape,
  },
);
export type BlockOverride = ReturnType<typeof blockOverrideShape.parse>;
