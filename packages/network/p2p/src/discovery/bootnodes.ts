import { ECDH } from "node:crypto";
import { isIP } from "node:net";
import { ENR } from "@chainsafe/enr";
import { multiaddr } from "@multiformats/multiaddr";
import { P2PSettingError } from "../settings-error.ts";

/** A node to begin with. */
export interface Bootnode {
  readonly record: ENR;
  /** An unsigned record made from `enode://`, sufficient to request the node's own record. */
  readonly isUnsigned: boolean;
}

const EXPECTED = "expected a record (enr:…) or enode://<128 hex digits>@<ip>:<port>";

/** @throws {P2PSettingError} bootnodes */
export function parseBootnode(text: string): Bootnode {
  const trimmed = text.trim();
  if (trimmed.startsWith("enode://")) return { record: parseEnode(trimmed), isUnsigned: true };
  if (!trimmed.startsWith("enr:")) throw bad(trimmed, "is neither");
  try {
    return { record: ENR.decodeTxt(trimmed), isUnsigned: false };
  } catch (cause) {
    throw bad(trimmed, `is not a valid record (${cause instanceof Error ? cause.message : String(cause)})`, cause);
  }
}

/** `enode://<public key>@<ip>:<TCP port>?discport=<UDP port>` */
function parseEnode(text: string): ENR {
  const match = /^enode:\/\/([0-9a-fA-F]{128})@(\[[0-9a-fA-F:.]+\]|[0-9.]+):(\d{1,5})(?:\?discport=(\d{1,5}))?$/.exec(text);
  if (match === null) throw bad(text, "is not such a text");
  const [, key = "", host = "", tcp = "", udp = tcp] = match;
  const ip = host.replace(/[[\]]/g, "");
  const family = isIP(ip);
  if (family === 0) throw bad(text, `has no IP address (${host})`);
  const publicKey = compressed(key);
  if (publicKey === undefined) throw bad(text, "has a public key that is not on the curve");
  if (Number(udp) < 1 || Number(udp) > 65_535) throw bad(text, `has no UDP port (${udp})`);
  const suffix = family === 6 ? "6" : "";
  const ports: [string, Uint8Array][] = Number(tcp) === 0 ? [] : [[`tcp${suffix}`, portBytes(Number(tcp))]];
  return new ENR(
    new Map([
      ["id", new TextEncoder().encode("v4")],
      [`ip${suffix}`, ipBytes(ip)],
      ["secp256k1", publicKey],
      ...ports,
      [`udp${suffix}`, portBytes(Number(udp))],
    ]),
    0n,
    new Uint8Array(64),
  );
}

const bad = (text: string, what: string, cause?: unknown): P2PSettingError =>
  new P2PSettingError("bootnodes", `"${text}" ${what}: ${EXPECTED}`, { cause });

const portBytes = (port: number): Uint8Array => Uint8Array.of(port >> 8, port & 0xff);

/** An address without the code of its family in front. */
const ipBytes = (ip: string): Uint8Array => multiaddr(`/${isIP(ip) === 6 ? "ip6" : "ip4"}/${ip}`).bytes.slice(1);

/** @returns `undefined`: no point of the curve */
function compressed(publicKey: string): Uint8Array | undefined {
  try {
    const converted = ECDH.convertKey(Buffer.from(`04${publicKey}`, "hex"), "secp256k1", undefined, undefined, "compressed");
    return Uint8Array.from(converted as Buffer);
  } catch {
    return undefined;
  }
}
