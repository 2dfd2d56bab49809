import { parseIp, parseSubnet, subnetContains } from "@rnode/peering";
import { P2PSettingError } from "../settings-error.ts";

/** Networks that a node keeps to. */
export interface IpNetworks {
  has(ip: string): boolean;
}

/** @param cidrs none: every address. @throws {P2PSettingError} netrestrict */
export function parseNetworks(cidrs: readonly string[]): IpNetworks {
  if (cidrs.length === 0) return { has: () => true };
  const subnets = cidrs.map((cidr) => {
    const subnet = parseSubnet(cidr.trim());
    if (subnet !== undefined) return subnet;
    throw new P2PSettingError("netrestrict", `"${cidr}" is not a network: expected an address and a length, such as 10.0.0.0/8`);
  });
  return {
    has(ip) {
      const address = parseIp(ip);
      return address !== undefined && subnets.some((subnet) => subnetContains(subnet, address));
    },
  };
}
