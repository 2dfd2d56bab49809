import { connect, isIP } from "node:net";
import { isPrivateIp } from "@rnode/peering";

export interface Advertised {
  /** `undefined`: no address is known */
  readonly ip: string | undefined;
  readonly nat: boolean;
}

/** Why the node may be unreachable at its advertised address; `undefined` if no reason is known at the start. */
export function reachabilityWarning({ ip, nat }: Advertised): string | undefined {
  if (nat) return undefined; // the router tells
  if (ip === undefined)
    return "no address is advertised, so others cannot find this node before ten of them agree on its address: --p2p.advertise.ip or --p2p.nat tells it";
  if (isPrivateIp(ip)) return `${ip} is a private address: only nodes of the same network can connect`;
  return undefined;
}

const CONNECT_LIMIT_MS = 5_000;

/** Whether something accepts connections there, as far as this machine can tell. */
export function acceptsConnections(ip: string, port: number): Promise<boolean> {
  if (isIP(ip) === 0) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({ host: ip, port, timeout: CONNECT_LIMIT_MS });
    const end = (accepts: boolean) => (): void => {
      socket.destroy();
      resolve(accepts);
    };
    socket.once("connect", end(true));
    socket.once("timeout", end(false));
    socket.once("error", end(false));
  });
}
