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
export { type Mapping, PortMapper, type PortMapperDeps } from "./nat.ts";
export { compressSnappyBlock, decompressSnappyBlock, SnappyError, snappyBlockLength } from "./snappy-block.ts";
export { findRouters } from "./upnp/find-routers.ts";
export type { Router } from "./upnp/upnp-router.ts";
