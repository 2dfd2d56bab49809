import { bool, duration, httpUrl, integerBetween, type OptionsOf, optionGroup } from "@rnode/program";
import type { DaClientOptions } from "./da-client.ts";

const altDa = { needs: "altda.enabled" } as const;
const MAX_REQUESTS = 1024;

/** The same in the rollup node and in the batch submitter: `--altda.*`. */
export const altDaOptions = optionGroup("altda", {
  enabled: {
    parse: bool,
    default: false,
    check: (isEnabled: boolean, other) =>
      isEnabled && other("altda.da-server") === undefined ? "it needs --altda.da-server, the server that has the data" : undefined,
    help: "Batches are on a data availability server, and only commitments to them on L1.",
  },
  daServer: { ...altDa, parse: httpUrl, help: "Endpoint of the data availability server." },
  daService: {
    ...altDa,
    parse: bool,
    default: false,
    help: "The server computes the commitments (generic ones); without it, they are keccak256 of the data.",
  },
  getTimeoutMs: { ...altDa, parse: duration, default: 0, help: "Time limit of reading from the server. 0: none." },
  putTimeoutMs: { ...altDa, parse: duration, default: 0, help: "Time limit of writing to the server. 0: none." },
  maxConcurrentDaRequests: {
    ...altDa,
    parse: integerBetween(1, MAX_REQUESTS),
    default: 1,
    help: "Maximum number of requests to the server at the same time.",
  },
  verifyOnRead: { ...altDa, parse: bool, default: true, help: "Check the server's data against its commitment." },
});

type AltDaOptions = OptionsOf<typeof altDaOptions>;

/** The client's settings; `undefined` if all data is on L1. */
export function altDaClientOptions(options: AltDaOptions): DaClientOptions | undefined {
  const { enabled, daServer: url, daService: usesService, verifyOnRead: verifiesOnRead } = options;
  if (!enabled || url === undefined) return undefined;
  const { getTimeoutMs, putTimeoutMs, maxConcurrentDaRequests: maxRequests } = options;
  return { url, usesService, verifiesOnRead, getTimeoutMs, putTimeoutMs, maxRequests };
}
