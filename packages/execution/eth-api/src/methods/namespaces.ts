import { type MethodTable, openRpcDocument, type SubscriptionTable } from "@rnode/jsonrpc";
import { applyParameterRules } from "../profile/parameter-rules.ts";
import type { Profile } from "../profile/profile.ts";
import * as results from "../schemas/results.ts";
import { adminMethods } from "./admin.ts";
import { debugCallManyMethods, ethCallManyMethods } from "./call-many.ts";
import { debugRawMethods } from "./debug.ts";
import { debugChainMethods } from "./debug-chain.ts";
import { debugStateMethods } from "./debug-state.ts";
import { debugTraceMethods } from "./debug-trace.ts";
import { ethAccountMethods } from "./eth-accounts.ts";
import { ethBlockMethods } from "./eth-blocks.ts";
import { ethConfigMethods } from "./eth-config.ts";
import { ethFeeMethods } from "./eth-fees.ts";
import { ethFillMethods } from "./eth-fill.ts";
import { ethLogMethods } from "./eth-logs.ts";
import { ethLookupMethods } from "./eth-lookups.ts";
import { ethMiningMethods } from "./eth-mining.ts";
import { ethSendMethods } from "./eth-send.ts";
import { ethSimulateMethods } from "./eth-simulate.ts";
import { ethStateMethods } from "./eth-state.ts";
import { type ApiMethods, method } from "./method.ts";
import { minerMethods } from "./miner.ts";
import { netMethods, web3Methods } from "./net-web3.ts";
import { otsMethods } from "./ots.ts";
import { sdmAdminMethods, sdmDebugMethods } from "./sdm.ts";
import type { ReadServices } from "./services.ts";
import { testingMethods } from "./testing.ts";
import { traceMethods } from "./trace.ts";
import { txpoolMethods } from "./txpool.ts";

/** The names that `--http.api` and `--ws.api` accept. */
export const NAMESPACES = ["eth", "net", "web3", "debug", "txpool", "trace", "ots", "miner", "admin", "testing", "rpc"] as const;
type Namespace = (typeof NAMESPACES)[number];

const TABLES: Readonly<Record<Exclude<Namespace, "rpc">, (services: ReadServices) => ApiMethods>> = {
  eth: (services) => ({
    ...ethBlockMethods(services),
    ...ethStateMethods(services),
    ...ethFeeMethods(services),
    ...ethLogMethods(services),
    ...ethSendMethods(services),
    ...ethSimulateMethods(services),
    ...ethConfigMethods(services),
    ...ethFillMethods(services),
    ...ethAccountMethods(services),
    ...ethMiningMethods(services),
    ...ethLookupMethods(services),
    ...ethCallManyMethods(services),
  }),
  net: netMethods,
  web3: web3Methods,
  debug: (services) => ({
    ...debugRawMethods(services),
    ...debugTraceMethods(services),
    ...debugCallManyMethods(services),
    ...debugStateMethods(services),
    ...debugChainMethods(services),
    ...sdmDebugMethods(services),
  }),
  txpool: txpoolMethods,
  trace: traceMethods,
  ots: otsMethods,
  miner: minerMethods,
  admin: (services) => ({ ...adminMethods(services), ...sdmAdminMethods(services) }),
  testing: testingMethods,
};

/** Namespaces that are listed but that the profile does not have. */
export const unservedNamespaces = (namespaces: readonly Namespace[], profile: Profile): readonly Namespace[] =>
  namespaces.filter((name) => (name === "trace" || name === "ots") && !profile.servesTrace);

/** The methods of a listener: those of the namespaces it lists. Any other method is answered with −32601. */
export function methodsOf(namespaces: readonly Namespace[], services: ReadServices): ApiMethods {
  const { profile } = services.backend;
  const unserved = unservedNamespaces(namespaces, profile);
  const listed = namespaces.filter((name) => name !== "rpc" && !unserved.includes(name));
  const methods: Record<string, ApiMethods[string]> = {};
  for (const name of listed) Object.assign(methods, TABLES[name as Exclude<Namespace, "rpc">](services));
  for (const [name, own] of Object.entries(methods)) {
    const params = applyParameterRules(profile.parameters, name, own.params);
    if (params !== own.params) methods[name] = { ...own, params };
  }
  if (profile.servesRpcModules || namespaces.includes("rpc")) {
    const modules = Object.fromEntries([...listed, "rpc"].map((name) => [name, "1.0"]));
    methods.rpc_modules = method({
      runs: "reader",
      cost: "cheap",
      result: results.modules,
      params: [],
      summary: "Namespaces of this listener.",
      handler: () => modules,
    });
  }
  return methods;
}

/** The methods of a listener, plus the method that describes them all (`rpc.discover`). */
export function withDescription(version: string, methods: MethodTable, subscriptions: SubscriptionTable = {}): MethodTable {
  const described: MethodTable = {
    ...methods,
    "rpc.discover": {
      result: { name: "description", schema: { type: "object", required: ["openrpc", "info", "methods"] } },
      params: [],
      summary: "This description, made from the declarations that read the parameters (OpenRPC).",
      handler: () => openRpcDocument({ title: "rengine JSON-RPC", version }, described, subscriptions),
    },
  };
  return described;
}
