export { defaultBootnodes } from "./default-bootnodes.ts";
export {
  canonicalIp,
  type IpBytes,
  ipText,
  isPrivateIp,
  isRelayable,
  parseIp,
  parseSubnet,
  type Subnet,
  subnetContains,
} from "./ip-address.ts";
export { KeyFileError, readOrCreateNetworkKey } from "./key-file.ts";
export { type Mapping, PortMapper, type PortMapperDeps, type PortMapperOptions } from "./nat.ts";
export type { NetworkTypes } from "./network-messages.ts";
export { NetworkProgram } from "./network-program.ts";
export { type NetworkRun, NetworkThread } from "./network-thread.ts";
export { PacketLimiter } from "./packet-limiter.ts";
export { receiveError, type SentError, sendError } from "./sent-error.ts";
export { type LogLine, SentLogger } from "./sent-logger.ts";
export {
  compressSnappyBlock,
  decompressSnappyBlock,
  SnappyError,
  type SnappyErrorCode,
  snappyBlockLength,
} from "./snappy-block.ts";
export { findRouters } from "./upnp/find-routers.ts";
export type { MappedProtocol, Router } from "./upnp/upnp-router.ts";
