import { BlockList, isIP } from "node:net";
import { P2PSettingError } from "../settings-error.ts";

/** Networks that a node keeps to. */
export interface IpNetworks {
  has(ip: string): boolean;
}

/** @param cidrs none: every address. @throws {P2PSettingError} netrestrict */
export function parseNetworks(cidrs: readonly string[]): IpNetworks {
  if (cidrs.length === 0) return { has: () => true };
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [ip = "", length = "", ...rest] = cidr.trim().split("/");
    const family = isIP(ip);
    const bits = Number(length);
    if (family === 0 || rest.length > 0 || !/^\d{1,3}$/.test(length) || bits > (family === 4 ? 32 : 128))
      throw new P2PSettingError("netrestrict", `"${cidr}" is not a network: expected an address and a length, such as 10.0.0.0/8`);
    list.addSubnet(ip, bits, family === 4 ? "ipv4" : "ipv6");
  }
  return { has: (ip) => isIP(ip) !== 0 && list.check(ip, isIP(ip) === 4 ? "ipv4" : "ipv6") };
}
