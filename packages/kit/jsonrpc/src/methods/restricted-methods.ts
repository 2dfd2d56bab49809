import { type MethodTable, method } from "../wire/method-table.ts";
import type { RpcError } from "../wire/rpc-error.ts";

/** Methods for certain callers only; others get an error. */
export interface RestrictedMethods {
  readonly names: ReadonlySet<string>;
  /** @param authorization the header of this name */
  readonly isAllowed: (authorization: string | undefined, remoteAddress: string) => boolean;
  /** the answer to a caller who may not use the method */
  readonly refusal: (method: string) => RpcError;
}

/** The table for callers who may not use the restricted methods. */
export function withoutRestricted(methods: MethodTable, { names, refusal }: RestrictedMethods): MethodTable {
  const refusing = Object.entries(methods)
    .filter(([name]) => names.has(name))
    .map(([name, { params, summary }]) => {
      const handler = (): never => {
        throw refusal(name);
      };
      return [name, method({ params, handler, ...(summary !== undefined && { summary }) })] as const;
    });
  return { ...methods, ...Object.fromEntries(refusing) };
}

/** Whether an address is of this machine itself. */
export const isLoopback = (address: string): boolean => address === "::1" || /^(?:::ffff:)?127\./.test(address);
