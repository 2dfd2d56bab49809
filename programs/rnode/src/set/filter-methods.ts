import {
  arrayShape,
  booleanShape,
  countShape,
  hashShape,
  type MethodTable,
  method,
  objectShape,
  param,
  quantityShape,
  RpcError,
  SERVER_ERROR,
  shape,
  wordShape,
} from "@rnode/jsonrpc";
import { type AccessListFilter, SAFETY_LEVELS } from "./access-list-filter.ts";
import type { SetDatabase } from "./set-database.ts";

export interface FilterApi {
  readonly filter: AccessListFilter;
  readonly database: SetDatabase;
  /** of the set */
  readonly chainIds: readonly bigint[];
  /** serve the methods of operators */
  readonly enableAdmin: boolean;
}

const hexChainId = quantityShape(256);
/** Decimal text, as op-service writes it, or a hex quantity. */
const chainIdShape = shape<bigint>({ type: "string" }, (value) =>
  typeof value === "string" && /^[0-9]{1,78}$/.test(value) ? BigInt(value) : hexChainId.parse(value),
);
const executionShape = objectShape({ timestamp: countShape }, { chainID: chainIdShape, timeout: countShape });
const blockNumberShape = shape<number | "latest">({ type: "string" }, (value) =>
  value === "latest" ? value : countShape.parse(value),
);

/** The methods that pools ask, as op-interop-filter has them. Spec: docs/protocol/05-services.md#interop-filters */
export function filterMethods({ filter, database, chainIds, enableAdmin }: FilterApi): MethodTable {
  return {
    interop_checkAccessList: method({
      params: [
        param("inboxEntries", arrayShape(hashShape)),
        param("minSafety", wordShape(...SAFETY_LEVELS)),
        param("executing", executionShape),
      ],
      handler: ([keys, level, { timestamp, timeout, chainID }]) => {
        filter.check(keys, level, { chainId: chainID, timestamp, timeoutSec: timeout ?? 0 });
        return null;
      },
    }),
    interop_getBlockHashByNumber: method({
      params: [param("chainID", chainIdShape), param("blockNumber", blockNumberShape)],
      handler: ([chainId, number]) => {
        const log = chainIds.includes(chainId) ? database.messageLog(chainId) : undefined;
        const block = number === "latest" ? log?.last : log?.at(number)?.block;
        if (block === undefined) throw new RpcError(SERVER_ERROR, `block ${number} of chain ${chainId}: not found`);
        return block.hash;
      },
    }),
    admin_getFailsafeEnabled: method({ params: [], handler: () => filter.failsafe.length > 0 }),
    ...(enableAdmin && {
      admin_setFailsafeEnabled: method({
        params: [param("enabled", booleanShape)],
        handler: ([enabled]) => {
          filter.isStopped = enabled;
          return null;
        },
      }),
    }),
  };
}
