import type { MethodTable, Params } from "./method-table.ts";

export interface OpenRpcInfo {
  readonly title: string;
  readonly version: string;
  readonly description?: string;
}

const describeParams = (params: Params): Record<string, unknown>[] =>
  params.map(({ name, shape, optional }) => ({ name, required: !optional, schema: shape.schema }));

/** The description of an API (OpenRPC 1.3), made from the declarations that read its parameters. Spec: spec.open-rpc.org */
export function openRpcDocument(info: OpenRpcInfo, methods: MethodTable): Record<string, unknown> {
  return {
    openrpc: "1.3.2",
    info,
    methods: Object.entries(methods)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { summary, params, result }]) => ({
        name,
        ...(summary !== undefined && { summary }),
        paramStructure: "either",
        params: describeParams(params),
        result: { name: result?.name ?? "result", schema: result?.schema ?? {} },
      })),
  };
}
