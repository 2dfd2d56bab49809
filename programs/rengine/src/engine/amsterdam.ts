import type { EngineErrorName } from "@rnode/eth-api";
import { type Shape, ShapeError, shape, uint64Shape } from "@rnode/jsonrpc";
import type { ExecutionPayload } from "@rnode/protocol";
import type { VersionFault } from "./version-checks.ts";

/**
 * The versions of methods that come with Amsterdam, a fork that none of our chains has: they name the first missing field, then refuse the
 * fork. Spec: execution-apis src/engine/amsterdam.md; the order of the checks is op-geth's
 */

/** fields of payload attributes that V4 requires, in the order of the checks, and the error if one is missing */
export const ATTRIBUTES_V4 = {
  withdrawals: "missing withdrawals",
  parentBeaconBlockRoot: "missing beacon root",
  slotNumber: "missing slot number",
  targetGasLimit: "missing target gas limit",
};
/** fields that payload version 4 adds */
export const PAYLOAD_V4 = { slotNumber: "nil slotnumber post-amsterdam" };
const NEW_NUMBERS = ["slotNumber", "targetGasLimit"];

const fieldOf = (json: unknown, name: string): unknown => (json as Record<string, unknown> | null)?.[name] ?? undefined;

/** What `base` reads, and the error about the first required field that is missing. */
export const requiring = <T>(base: Shape<T>, required: Readonly<Record<string, string>>) =>
  shape(base.schema, (json): { readonly value: T; readonly missing: string | undefined } => {
    const value = base.parse(json);
    for (const name of NEW_NUMBERS)
      if (name in required && fieldOf(json, name) !== undefined) uint64Shape.parse(fieldOf(json, name));
    return { value, missing: Object.entries(required).find(([name]) => fieldOf(json, name) === undefined)?.[1] };
  });

/** A payload of one of our chains: none of their blocks has the fields that payload version 4 adds. */
export const payloadBeforeV4Shape = (base: Shape<ExecutionPayload>): Shape<ExecutionPayload> =>
  shape(base.schema, (json) => {
    for (const name of ["blockAccessList", "slotNumber"])
      if (fieldOf(json, name) !== undefined) throw new ShapeError(`no block of this chain has a ${name}: leave it out`, name);
    return base.parse(json);
  });

/** @param error the one for a missing field */
export const amsterdamFault = (method: string, error: EngineErrorName, missing: string | undefined): VersionFault =>
  missing === undefined
    ? { error: "unsupported-fork", detail: `${method} must only be called for amsterdam payloads` }
    : { error, detail: missing };
