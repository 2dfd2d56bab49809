import { resolve } from "node:path";
import type { Logger } from "@rnode/observe";
import { connectionLimits, KeyFileError, type P2PConfig, readOrCreateNetworkKey } from "@rnode/p2p";
import type { RollupConfig } from "@rnode/protocol";
import { StartError } from "../common/start-error.ts";
import type { RnodeOptions } from "../options.ts";
import { VERSION } from "../version.ts";

/** In place of a folder: nothing is kept over a restart. */
const IN_MEMORY = "memory";

/** The network's configuration from the options; reads the network key, or makes it. @throws {StartError} start/bad-config */
export function p2pConfig(options: RnodeOptions["p2p"], rollup: RollupConfig, log: Logger): P2PConfig {
  const path = resolve(options.privPath);
  return {
    rollup,
    networkKey: readNetworkKey(path, log),
    listen: { ip: options.listenIp, tcpPort: options.listenTcp, udpPort: options.listenUdp },
    advertise: {
      ip: options.advertiseIp,
      tcpPort: options.advertiseTcp || undefined,
      udpPort: options.advertiseUdp || undefined,
    },
    nat: options.nat,
    discovery: { enabled: !options.noDiscovery, bootnodes: options.bootnodes, path: folderOf(options.discoveryPath) },
    staticPeers: options.static,
    netrestrict: options.netrestrict,
    peers: {
      low: options.peersLo,
      high: options.peersHi,
      graceMs: options.peersGraceMs,
      path: folderOf(options.peerstorePath),
      scoring: options.scoring,
      ban: { enabled: options.banPeers, threshold: options.banThreshold, durationMs: options.banDurationMs },
    },
    gossip: { timestampThresholdMs: options.gossipTimestampThresholdMs },
    sync: { requestResponse: options.syncReqResp, onlyRequestToStatic: options.syncOnlyreqtostatic },
    userAgent: `rnode/${VERSION}`,
    limits: connectionLimits(options.peersHi),
  };
}

const folderOf = (text: string): string | undefined => (text === IN_MEMORY ? undefined : resolve(text));

/** Reads the network key, or makes it. @throws {StartError} start/bad-config */
export function readNetworkKey(path: string, log: Logger): Uint8Array {
  try {
    const { key, isNew } = readOrCreateNetworkKey(path);
    if (isNew) log.info("made a new network key", { path });
    return key;
  } catch (cause) {
    if (!(cause instanceof KeyFileError)) throw cause;
    throw new StartError("start/bad-config", `--p2p.priv.path: ${cause.message}`, { cause });
  }
}
