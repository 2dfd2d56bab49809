import { type MethodTable, method } from "../wire/method-table.ts";

/** The methods, and `rpc_modules`, which lists their namespaces, each with the version 1.0, as Geth does. */
export function withModules(methods: MethodTable): MethodTable {
  const names = new Set([...Object.keys(methods), "rpc_modules"].map((name) => name.split("_", 1)[0]!));
  const modules = Object.fromEntries([...names].sort().map((name) => [name, "1.0"]));
  return { ...methods, rpc_modules: method({ params: [], summary: "Namespaces of this server.", handler: () => modules }) };
}
