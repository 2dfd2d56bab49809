import type { MethodTable, Params, SubscriptionTable } from "../wire/method-table.ts";

export interface OpenRpcInfo {
  readonly title: string;
  readonly version: string;
  readonly description?: string;
}

const describeParams = (params: Params): Record<string, unknown>[] =>
  params.map(({ name, shape, optional, mustBePresent = false }) => ({
    name,
    required: !optional || mustBePresent,
    schema: shape.schema,
  }));

/** The parameters of `eth_subscribe` and its kin: the kind, and the kind's own parameter. */
function describeSubscriptions(subscriptions: SubscriptionTable): Record<string, unknown>[] {
  return Object.entries(subscriptions).flatMap(([namespace, kinds]) => {
    const names = Object.keys(kinds);
    if (names.length === 0) return [];
    const filters = Object.values(kinds).flatMap(({ params }) => params.map(({ shape }) => shape.schema));
    const id = { name: "subscription", schema: { type: "string", pattern: "^0x[0-9a-f]+$" } };
    const kind = { name: "kind", required: true, schema: { enum: names } };
    const filter = { name: "filter", required: false, schema: { oneOf: filters } };
    return [
      {
        name: `${namespace}_subscribe`,
        summary: names.map((name) => `${name}: ${kinds[name]!.summary ?? ""}`).join(" "),
        paramStructure: "either",
        params: filters.length === 0 ? [kind] : [kind, filter],
        result: id,
      },
      {
        name: `${namespace}_unsubscribe`,
        summary: "Ends a subscription of the connection.",
        paramStructure: "either",
        params: [{ ...id, required: true }],
        result: { name: "ended", schema: { type: "boolean" } },
      },
    ];
  });
}

/**
 * The description of an API (OpenRPC 1.3), generated from the declarations that also parse its parameters. Spec: spec.open-rpc.org
 *
 * @param subscriptions of a WebSocket
 */
export function openRpcDocument(
  info: OpenRpcInfo,
  methods: MethodTable,
  subscriptions: SubscriptionTable = {},
): Record<string, unknown> {
  const described = Object.entries(methods).map(([name, { summary, params, result }]) => ({
    name,
    ...(summary !== undefined && { summary }),
    paramStructure: "either",
    params: describeParams(params),
    result: { name: result?.name ?? "result", schema: result?.schema ?? {} },
  }));
  return {
    openrpc: "1.3.2",
    info,
    methods: [...described, ...describeSubscriptions(subscriptions)].sort((a, b) =>
      (a.name as string) < (b.name as string) ? -1 : 1,
    ),
  };
}
