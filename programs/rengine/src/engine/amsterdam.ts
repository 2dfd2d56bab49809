import { attributesShape, type EngineErrorName } from "@rnode/eth-api";
import { type Shape, ShapeError, shape, uint64Shape } from "@rnode/jsonrpc";
import type { ExecutionPayload, PayloadAttributes } from "@rnode/protocol";
import { missingPayloadField, type NewPayloadInput, type VersionFault } from "./version-checks.ts";

/**
 * The versions of methods that come with Amsterdam, a fork that none of our chains has: they say what is missing, then that the fork is not
 * supported. Spec: execution-apis src/engine/amsterdam.md; the order of the checks is op-geth's
 */

const fault = (error: EngineErrorName, detail: string): VersionFault => ({ error, detail });

const given = (value: unknown, name: string): bigint | undefined => {
  const field = (value as Record<string, unknown> | null)?.[name];
  return field === undefined || field === null ? undefined : uint64Shape.parse(field);
};

export interface AttributesV4 {
  readonly attributes: PayloadAttributes;
  readonly slotNumber: bigint | undefined;
  readonly targetGasLimit: bigint | undefined;
}

export const attributesV4Shape: Shape<AttributesV4> = shape(attributesShape.schema, (value) => ({
  attributes: attributesShape.parse(value),
  slotNumber: given(value, "slotNumber"),
  targetGasLimit: given(value, "targetGasLimit"),
}));

export interface PayloadV4 {
  readonly payload: ExecutionPayload;
  readonly slotNumber: bigint | undefined;
}

export const payloadV4Shape = (base: Shape<ExecutionPayload>): Shape<PayloadV4> =>
  shape(base.schema, (value) => ({ payload: base.parse(value), slotNumber: given(value, "slotNumber") }));

const PAYLOAD_V4_FIELDS = ["blockAccessList", "slotNumber"] as const;

/** A payload of one of our chains: none of their blocks has the fields that payload version 4 adds. */
export const payloadBeforeV4Shape = (base: Shape<ExecutionPayload>): Shape<ExecutionPayload> =>
  shape(base.schema, (value) => {
    for (const name of PAYLOAD_V4_FIELDS) {
      const field = (value as Record<string, unknown> | null)?.[name];
      if (field !== undefined && field !== null) throw new ShapeError(`no block of this chain has a ${name}: leave it out`, name);
    }
    return base.parse(value);
  });

export function forkchoiceUpdatedV4Fault({ attributes, slotNumber, targetGasLimit }: AttributesV4): VersionFault {
  if (attributes.withdrawals === undefined) return fault("invalid-attributes", "missing withdrawals");
  if (attributes.parentBeaconBlockRoot === undefined) return fault("invalid-attributes", "missing beacon root");
  if (slotNumber === undefined) return fault("invalid-attributes", "missing slot number");
  if (targetGasLimit === undefined) return fault("invalid-attributes", "missing target gas limit");
  return fault("unsupported-fork", "forkchoiceUpdatedV4 must only be called for amsterdam payloads");
}

export function newPayloadV5Fault(input: NewPayloadInput, slotNumber: bigint | undefined): VersionFault {
  const missing = missingPayloadField(4, input);
  if (missing !== undefined) return fault("invalid-params", missing);
  if (slotNumber === undefined) return fault("invalid-params", "nil slotnumber post-amsterdam");
  return fault("unsupported-fork", "newPayloadV5 must only be called for amsterdam payloads");
}

/** A payload's id begins with the version of the attributes that it was built from. */
export const getPayloadV6Fault = (id: string): VersionFault =>
  id.startsWith("0x04") ? fault("unknown-payload", "") : fault("unsupported-fork", "getPayloadV6 is for amsterdam payloads");
