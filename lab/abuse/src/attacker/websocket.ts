import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Attacker } from "./attacker.ts";

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Opens a WebSocket without a library, so any bytes can be sent over it. `undefined` if it was refused. */
export async function openWebSocket(
  attacker: Attacker,
  port: number,
  headers: readonly string[] = [],
  from?: string,
): Promise<Socket | undefined> {
  const socket = await attacker.connect(port, from);
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

/** The server's side of an opening handshake. Spec: RFC 6455, section 4.2.2 */
export function acceptWebSocket({ headers }: IncomingMessage, socket: Socket): void {
  const accept = createHash("sha1").update(`${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const head = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket", `Sec-WebSocket-Accept: ${accept}`];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
}

/** Calls `onMessage` with each text or binary message that a server sends in one frame. */
export function readMessages(socket: Socket, onMessage: (message: Buffer) => void): void {
  let unread = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    for (;;) {
      const short = unread.length < 2 ? 0 : unread[1]! & 0x7f;
      const at = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (unread.length < at) return;
      const length = short < 126 ? short : short === 126 ? unread.readUInt16BE(2) : Number(unread.readBigUInt64BE(2));
      if (unread.length < at + length) return;
      const opcode = unread[0]! & 0x0f;
      if (opcode === OPCODE.text || opcode === OPCODE.binary) onMessage(unread.subarray(at, at + length));
      unread = unread.subarray(at + length);
    }
  });
}
