import { isIP } from "node:net";
import { canonicalIp } from "@rnode/peering";
import { hexToBytes } from "@rnode/primitives";
import { DevP2PError } from "./errors.ts";

/** A node's key and endpoint. */
export interface Enode {
  /** x ‖ y, 64 bytes */
  readonly publicKey: Uint8Array;
  /** 128 hex digits of it */
  readonly id: string;
  /** canonical; or a name that is looked up when it is dialled */
  readonly host: string;
  readonly tcpPort: number;
  readonly udpPort: number;
}

const FORM = /^enode:\/\/([0-9a-fA-F]{128})@(\[[0-9a-fA-F:.]+\]|[^:@/?#[\]]+):(\d{1,5})(?:\?discport=(\d{1,5}))?$/;
const MAX_SHOWN_CHARS = 200;

/**
 * `enode://<128 hex digits>@<IP or name>:<TCP port>[?discport=<UDP port>]`.
 *
 * @throws {DevP2PError} devp2p/bad-enode
 */
export function parseEnode(text: string): Enode {
  const [, digits, address, tcp, udp] = FORM.exec(text.trim()) ?? [];
  const tcpPort = Number(tcp);
  const udpPort = udp === undefined ? tcpPort : Number(udp);
  if (digits === undefined || address === undefined || tcpPort > 65_535 || udpPort > 65_535)
    throw new DevP2PError("devp2p/bad-enode", { text: text.slice(0, MAX_SHOWN_CHARS) });
  const host = address.startsWith("[") ? address.slice(1, -1) : address;
  const id = digits.toLowerCase();
  return { publicKey: hexToBytes(id), id, host: canonicalIp(host) ?? host, tcpPort, udpPort };
}

export function enodeText({ id, host, tcpPort, udpPort }: Pick<Enode, "id" | "host" | "tcpPort" | "udpPort">): string {
  const address = isIP(host) === 6 ? `[${host}]` : host;
  return `enode://${id}@${address}:${tcpPort}${udpPort === tcpPort ? "" : `?discport=${udpPort}`}`;
}
