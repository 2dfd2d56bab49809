import type { OptionSource } from "@rnode/options";
import type { RnodeOptions } from "./options.ts";

/** What this build does not have yet, by the option that asks for it. Spec: every option is parsed; none is silently ignored. */
const UNAVAILABLE: readonly {
  readonly flag: string;
  readonly what: string;
  readonly isAsked: (options: RnodeOptions) => boolean;
}[] = [
  { flag: "l1.beacon", what: "reading blobs", isAsked: ({ l1 }) => l1.beacon !== undefined },
  { flag: "l1.beacon-fallbacks", what: "reading blobs", isAsked: ({ l1 }) => l1.beaconFallbacks.length > 0 },
  { flag: "rollup.halt", what: "reading protocol versions from L1", isAsked: ({ rollup }) => rollup.halt !== "none" },
  { flag: "syncmode", what: "execution-layer sync", isAsked: ({ rollup }) => rollup.syncmode === "execution-layer" },
  { flag: "pprof.enabled", what: "the profile server", isAsked: ({ pprof }) => pprof.enabled },
  { flag: "pprof.type", what: "writing profiles", isAsked: ({ pprof }) => pprof.type !== undefined },
  { flag: "conductor.enabled", what: "the conductor", isAsked: ({ later }) => later.conductorEnabled },
  { flag: "safedb.path", what: "the safe head database", isAsked: ({ later }) => later.safedbPath !== undefined },
  { flag: "signer.endpoint", what: "the remote signer", isAsked: ({ later }) => later.signerEndpoint !== undefined },
  { flag: "signer.address", what: "the remote signer", isAsked: ({ later }) => later.signerAddress !== undefined },
  { flag: "altda.enabled", what: "alternative data availability", isAsked: ({ later }) => later.altdaEnabled },
  { flag: "altda.da-server", what: "alternative data availability", isAsked: ({ later }) => later.altdaDaServer !== undefined },
  { flag: "interop.dependency-set", what: "interop", isAsked: ({ later }) => later.interopDependencySet !== undefined },
  { flag: "interop.rpc.addr", what: "interop", isAsked: ({ later }) => later.interopRpcAddr !== undefined },
  {
    flag: "experimental.sequencer-api",
    what: "the test sequencer's namespace",
    isAsked: ({ later }) => later.experimentalSequencerApi,
  },
];

/** Options that only make sense with peers; those that merely tune the network are harmless without it. */
const NEEDS_PEERS = [
  "p2p.static",
  "p2p.sequencer.key",
  "p2p.bootnodes",
  "p2p.advertise.ip",
  "p2p.priv.path",
  "p2p.netrestrict",
  "p2p.sync.onlyreqtostatic",
] as const;

/** One line on the first option that asks for something this build does not have; undefined when there is none. */
export function unavailableOption(options: RnodeOptions, sources: ReadonlyMap<string, OptionSource>): string | undefined {
  const asked = UNAVAILABLE.find(({ isAsked }) => isAsked(options));
  if (asked !== undefined) return `--${asked.flag}: ${asked.what} is not available in this build`;
  if (options.p2p.disable) return undefined;
  const needsPeers = NEEDS_PEERS.find((flag) => (sources.get(flag) ?? "default") !== "default");
  if (needsPeers === undefined) return undefined;
  return `--${needsPeers}: peer-to-peer networking is not available in this build (--p2p.disable goes on without it)`;
}
