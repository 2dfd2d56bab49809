import { schemaFaults } from "@rnode/eth-api/testing";
import type { JsonSchema, RpcClient } from "@rnode/jsonrpc";

interface Described {
  readonly name: string;
  readonly params: readonly { readonly name: string; readonly required: boolean; readonly schema: JsonSchema }[];
  readonly result: { readonly name: string; readonly schema: JsonSchema };
}

/** The methods that the server describes, by name. */
export async function describedMethods(rpc: Pick<RpcClient, "call">): Promise<ReadonlyMap<string, Described>> {
  const { methods } = await rpc.call<{ methods: readonly Described[] }>("rpc.discover");
  return new Map(methods.map((own) => [own.name, own]));
}

/** A client that checks every answer against the same server's `rpc.discover`. */
export function holdingToDescription(rpc: RpcClient): RpcClient {
  let methods: Promise<ReadonlyMap<string, Described>> | undefined;
  return {
    ...rpc,
    async call<T>(...args: Parameters<RpcClient["call"]>): Promise<T> {
      const [name] = args;
      const result = await rpc.call<T>(...args);
      methods ??= describedMethods(rpc);
      const described = (await methods).get(name);
      if (described === undefined) throw new Error(`${name} answers and is not described`);
      const faults = schemaFaults(described.result.schema, result);
      if (faults.length > 0) throw new Error(`${name} answers other than described: ${faults.slice(0, 3).join("; ")}`);
      return result;
    },
  };
}
