import type { Socket } from "node:net";
import type { Attacker } from "./attacker.ts";

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Opens a WebSocket without a library, so any bytes can be sent over it. `undefined` if it was refused. */
export async function openWebSocket(
  attacker: Attacker,
  port: number,
  headers: readonly string[] = [],
): Promise<Socket | undefined> {
  const socket = await attacker.connect(port);
  if (!socket) return undefined;
  const upgrade = [
    "GET / HTTP/1.1",
    ...(headers.some((header) => /^host:/i.test(header)) ? [] : ["Host: 127.0.0.1"]),
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==",
    ...headers,
    "",
    "",
  ].join("\r\n");
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once("data", (chunk: Buffer) => resolve(chunk.toString("latin1").startsWith("HTTP/1.1 101")));
    socket.once("close", () => resolve(false));
    socket.write(upgrade);
  });
  if (isOpen) return socket;
  socket.destroy();
  return undefined;
}

export interface FrameOptions {
  readonly opcode?: number;
  readonly isLast?: boolean;
  /** clients must */
  readonly isMasked?: boolean;
  /** must be 0 */
  readonly reservedBits?: number;
  /** instead of the true one */
  readonly claimedLength?: bigint;
}

/** A client's frame, unless the options change it. Spec: RFC 6455, section 5.2 */
export function frame(payload: Uint8Array | string, options: FrameOptions = {}): Buffer {
  const data = Buffer.from(payload);
  const { opcode = OPCODE.text, isLast = true, isMasked = true, reservedBits = 0, claimedLength = BigInt(data.length) } = options;
  const first = (isLast ? 0x80 : 0) | (reservedBits << 4) | opcode;
  const maskBit = isMasked ? 0x80 : 0;
  const head =
    claimedLength < 126n
      ? Buffer.from([first, maskBit | Number(claimedLength)])
      : claimedLength < 65_536n
        ? Buffer.from([first, maskBit | 126, Number(claimedLength >> 8n), Number(claimedLength & 0xffn)])
        : Buffer.concat([Buffer.from([first, maskBit | 127]), bigEndian64(claimedLength)]);
  // a mask of zeros does not change the payload
  return Buffer.concat(isMasked ? [head, Buffer.alloc(4), data] : [head, data]);
}

function bigEndian64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}
