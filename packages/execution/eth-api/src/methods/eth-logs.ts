import { param, textShape } from "@rnode/jsonrpc";
import { checkFilterRange, queryLogs } from "../logs/log-query.ts";
import { logFilterShape } from "../params/log-filter.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

/** Logs, and filters that are polled. */
export function ethLogMethods({ backend, filters, logLimits }: ReadServices): ApiMethods {
  const id = param("filterId", textShape);
  return {
    eth_getLogs: method({
      runs: "reader",
      cost: "search",
      result: results.logs,
      params: [param("filter", logFilterShape)],
      handler: ([filter], work) => queryLogs(backend, work, filter, logLimits),
    }),
    eth_newFilter: method({
      runs: "reader",
      cost: "cheap",
      result: results.filterId,
      params: [param("filter", logFilterShape)],
      handler: ([filter], { remoteAddress }) => {
        checkFilterRange(backend, filter);
        return filters.install(remoteAddress, "logs", filter);
      },
    }),
    eth_newBlockFilter: method({
      runs: "reader",
      cost: "cheap",
      result: results.filterId,
      params: [],
      handler: (_, { remoteAddress }) => filters.install(remoteAddress, "blocks"),
    }),
    eth_newPendingTransactionFilter: method({
      runs: "reader",
      cost: "cheap",
      result: results.filterId,
      params: [],
      handler: async (_, { remoteAddress }) => {
        const filterId = filters.install(remoteAddress, "transactions");
        await filters.isFollowing();
        return filterId;
      },
    }),
    eth_getFilterChanges: method({
      runs: "filter-owner",
      result: results.changes,
      params: [id],
      handler: ([filterId]) => filters.changes(filterId),
    }),
    eth_getFilterLogs: method({
      runs: "filter-owner",
      result: results.logs,
      params: [id],
      handler: ([filterId]) => filters.logs(filterId),
    }),
    eth_uninstallFilter: method({
      runs: "filter-owner",
      result: results.flag("removed"),
      params: [id],
      ifUnknown: false,
      handler: ([filterId]) => filters.uninstall(filterId),
    }),
  };
}
