import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { P2PSettingError } from "../settings-error.ts";

/** The address to advertise: as given, or the first IPv4 address of a host name. @throws {P2PSettingError} advertise.ip */
export async function resolveAdvertisedIp(ipOrName: string, look: typeof lookup = lookup): Promise<string> {
  if (isIP(ipOrName) !== 0) return ipOrName;
  const remedy = "give an address, or a name that has an IPv4 address";
  try {
    const addresses = await look(ipOrName, { all: true, family: 4 });
    const [first] = addresses;
    if (first !== undefined) return first.address;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new P2PSettingError("advertise.ip", `"${ipOrName}" cannot be resolved (${reason}): ${remedy}`, { cause });
  }
  throw new P2PSettingError("advertise.ip", `"${ipOrName}" has no IPv4 address: ${remedy}`);
}
