import { type MethodTable, method, param, textShape } from "@rnode/jsonrpc";
import { logFilterShape } from "../logs/log-filter.ts";
import { queryLogs } from "../logs/log-query.ts";
import * as results from "../schemas/results.ts";
import type { RpcServices } from "./services.ts";

/** Logs and filters that are polled. */
export function ethLogMethods({ backend, filters, logLimits }: RpcServices): MethodTable {
  const id = param("filterId", textShape);
  return {
    eth_getLogs: method({
      result: results.logs,
      params: [param("filter", logFilterShape)],
      handler: ([filter]) => queryLogs(backend, filter, logLimits),
    }),
    eth_newFilter: method({
      result: results.filterId,
      params: [param("filter", logFilterShape)],
      handler: ([filter]) => filters.install("logs", filter),
    }),
    eth_newBlockFilter: method({ result: results.filterId, params: [], handler: () => filters.install("blocks") }),
    eth_newPendingTransactionFilter: method({
      result: results.filterId,
      params: [],
      handler: () => filters.install("transactions"),
    }),
    eth_getFilterChanges: method({ result: results.changes, params: [id], handler: ([filterId]) => filters.changes(filterId) }),
    eth_getFilterLogs: method({ result: results.logs, params: [id], handler: ([filterId]) => filters.logs(filterId) }),
    eth_uninstallFilter: method({
      result: results.flag("removed"),
      params: [id],
      handler: ([filterId]) => filters.uninstall(filterId),
    }),
  };
}
