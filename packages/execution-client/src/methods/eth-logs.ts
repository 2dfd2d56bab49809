import { type MethodTable, method, param, textShape } from "@rnode/jsonrpc";
import { logFilterShape } from "../rpc/log-filter.ts";
import { queryLogs } from "../rpc/log-query.ts";
import type { RpcServices } from "./services.ts";

/** Logs and filters that are polled. */
export function ethLogMethods({ backend, filters, logLimits }: RpcServices): MethodTable {
  const id = param("filterId", textShape);
  return {
    eth_getLogs: method({
      params: [param("filter", logFilterShape)],
      handler: ([filter]) => queryLogs(backend, filter, logLimits),
    }),
    eth_newFilter: method({
      params: [param("filter", logFilterShape)],
      handler: ([filter]) => filters.install("logs", filter),
    }),
    eth_newBlockFilter: method({ params: [], handler: () => filters.install("blocks") }),
    eth_newPendingTransactionFilter: method({ params: [], handler: () => filters.install("transactions") }),
    eth_getFilterChanges: method({ params: [id], handler: ([filterId]) => filters.changes(filterId) }),
    eth_getFilterLogs: method({ params: [id], handler: ([filterId]) => filters.logs(filterId) }),
    eth_uninstallFilter: method({ params: [id], handler: ([filterId]) => filters.uninstall(filterId) }),
  };
}
