import { isIPv6 } from "node:net";
import type { ConnectionGater, MultiaddrConnection } from "@libp2p/interface";
import { type Clock, TokenBucket } from "@rnode/primitives";
import { ipOf } from "../multiaddresses.ts";
import type { ConnectionLimits } from "../network.ts";

/** Refuses inbound connections beyond the limits per address (including connections in negotiation) and per second. */
export function boundedInbound(
  { maxOfAddress, acceptsPerSec }: ConnectionLimits,
  gater: ConnectionGater,
  clock: Clock,
): ConnectionGater {
  const accepts = new TokenBucket({ perSec: acceptsPerSec, burst: 2 * acceptsPerSec }, clock);
  const open = new Map<string, number>();
  const count = (key: string, by: 1 | -1): void => {
    const now = (open.get(key) ?? 0) + by;
    if (now === 0) open.delete(key);
    else open.set(key, now);
  };
  return {
    ...gater,
    denyInboundConnection(connection: MultiaddrConnection) {
      const ip = ipOf(connection.remoteAddr);
      if (ip !== undefined) {
        const key = sourceOf(ip);
        if ((open.get(key) ?? 0) >= maxOfAddress || !accepts.take()) return true;
        count(key, 1);
        connection.addEventListener("close", () => count(key, -1), { once: true });
      }
      return gater.denyInboundConnection?.(connection) ?? false;
    },
  };
}

/** Who has an IPv6 address has its whole /64. */
export function sourceOf(ip: string): string {
  if (!isIPv6(ip)) return ip;
  const [head = "", tail = ""] = ip.split("%")[0]!.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const zeros = ip.includes("::") ? Math.max(0, 8 - left.length - right.length) : 0;
  return [...left, ...Array<string>(zeros).fill("0"), ...right]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
