import { type MethodTable, serviceMethods } from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import type { Proposer } from "./proposer.ts";

export interface AdminDeps {
  /** undefined until the endpoints are known */
  readonly proposer: () => Pick<Proposer, "start" | "stop"> | undefined;
  readonly log: Logger;
  readonly version: string;
}

/** Methods of the proposer's own server, as op-proposer has them. */
export function proposerMethods({ proposer: service, ...deps }: AdminDeps, enableAdmin: boolean): MethodTable {
  const summaries = { start: "Begins to propose.", stop: "Stops proposing. A proposal that is under way may still be included." };
  return serviceMethods({ ...deps, name: "Proposer", service, summaries }, enableAdmin);
}
