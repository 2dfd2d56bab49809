import type { ECDH } from "node:crypto";
import type { Socket } from "node:net";
import { compressSnappyBlock, decompressSnappyBlock, snappyBlockLength } from "@rnode/peering";
import { encodeRlp, equalBytes, isCodedError, rlpUint } from "@rnode/primitives";
import { DevP2PError } from "../errors.ts";
import { publicKeyOf } from "./ecies.ts";
import { FRAME_HEADER_BYTES, FrameCodec, frameBodySize } from "./frames.ts";
import { answerHandshake, handshakeBodySize, Initiator, type SessionSecrets, SIZE_PREFIX_BYTES } from "./handshake.ts";
import {
  BASE_MESSAGES,
  type Capability,
  DISCONNECT_REASONS,
  type DisconnectReason,
  decodeDisconnect,
  decodeHello,
  encodeHello,
  type Hello,
} from "./hello.ts";
import { SocketReader } from "./socket-reader.ts";

export interface RlpxOptions {
  readonly own: ECDH;
  readonly clientId: string;
  readonly capabilities: readonly Capability[];
  readonly port: number;
  /** x ‖ y of the dialled peer; `undefined`: inbound */
  readonly remoteKey?: Uint8Array | undefined;
  /** for inbound connections: called when the handshake has arrived, before any computation for it */
  readonly mayAnswer?: (() => boolean) | undefined;
}

/** A message of a capability, after its code. */
export interface RlpxMessage {
  readonly code: number;
  readonly data: Uint8Array;
}

const HANDSHAKE_LIMIT_MS = 5_000;
/** maximum time without a message, including pongs */
const SILENCE_LIMIT_MS = 30_000;
const PING_INTERVAL_MS = 15_000;
const FRAME_LIMIT_MS = 30_000;
const DRAIN_LIMIT_MS = 20_000;
const CLOSE_DELAY_MS = 500;
/** until hello, and for the messages that every peer has */
const MAX_BASE_MESSAGE_BYTES = 2_048;
/** maximum size of a message code */
const MAX_CODE_BYTES = 9;
/** bytes under way to a peer, beyond which announcements are left out */
const CONGESTED_BYTES = 1 << 20;

/** How large a snappy block can become. */
const compressedBound = (bytes: number): number => 32 + bytes + Math.ceil(bytes / 6);

/** An encrypted connection whose ends have introduced themselves. */
export class RlpxConnection {
  readonly hello: Hello;
  readonly #socket: Socket;
  readonly #reader: SocketReader;
  readonly #codec: FrameCodec;
  readonly #isCompressed: boolean;
  #lastSentMs = performance.now();
  #isClosed = false;
  #bytesIn = 0;
  #bytesOut = 0;

  private constructor(parts: { socket: Socket; reader: SocketReader; codec: FrameCodec; hello: Hello & { version: number } }) {
    this.#socket = parts.socket;
    this.#reader = parts.reader;
    this.#codec = parts.codec;
    this.hello = parts.hello;
    this.#isCompressed = parts.hello.version >= 5;
  }

  /**
   * The handshake and both hellos. The socket is destroyed when that fails.
   *
   * @throws {DevP2PError} devp2p/bad-handshake, devp2p/unexpected-identity, devp2p/refused, devp2p/timeout, devp2p/disconnected…
   */
  static async open(socket: Socket, options: RlpxOptions): Promise<RlpxConnection> {
    const reader = new SocketReader(socket);
    try {
      socket.setNoDelay(true);
      const secrets = await exchangeSecrets(socket, reader, options);
      const codec = new FrameCodec(secrets);
      const { clientId, capabilities, port, own } = options;
      const ownHello = encodeHello({ clientId, capabilities, port, publicKey: publicKeyOf(own) });
      socket.write(codec.seal(rlpCode(BASE_MESSAGES.hello), ownHello));
      const { code, data } = await readFrame(reader, codec, MAX_BASE_MESSAGE_BYTES, HANDSHAKE_LIMIT_MS);
      if (code === BASE_MESSAGES.disconnect)
        throw new DevP2PError("devp2p/disconnected", { reason: decodeDisconnect(data) ?? "unknown reason" });
      if (code !== BASE_MESSAGES.hello) throw new DevP2PError("devp2p/bad-message", { reason: `message ${code} before hello` });
      const hello = decodeHello(data);
      if (!equalBytes(hello.publicKey, secrets.remoteKey)) throw new DevP2PError("devp2p/unexpected-identity");
      return new RlpxConnection({ socket, reader, codec, hello });
    } catch (error) {
      socket.destroy();
      throw asBadMessage(error);
    }
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get bytes(): { readonly in: number; readonly out: number } {
    return { in: this.#bytesIn, out: this.#bytesOut };
  }

  /** Whether the peer reads more slowly than the node sends. */
  get isCongested(): boolean {
    return this.#socket.writableLength > CONGESTED_BYTES;
  }

  /**
   * The next message of a capability; pings are answered internally.
   *
   * @param maxBytes decompressed size, called when the size is known and before the message is received
   * @throws {DevP2PError} devp2p/disconnected, devp2p/timeout, devp2p/bad-frame, devp2p/bad-message, devp2p/too-large
   */
  async next(maxBytes: () => number): Promise<RlpxMessage> {
    const pings = setInterval(() => this.#ping(), PING_INTERVAL_MS);
    try {
      for (;;) {
        const { code, data } = await this.#receive(maxBytes);
        switch (code) {
          case BASE_MESSAGES.ping:
            this.send(BASE_MESSAGES.pong, Uint8Array.of(0xc0));
            continue;
          case BASE_MESSAGES.pong:
            continue;
          case BASE_MESSAGES.disconnect: {
            const reason = decodeDisconnect(this.#isCompressed ? decompressSnappyBlock(data, MAX_BASE_MESSAGE_BYTES) : data);
            throw new DevP2PError("devp2p/disconnected", { reason: reason ?? "unknown reason" });
          }
          case BASE_MESSAGES.hello:
            throw new DevP2PError("devp2p/bad-message", { reason: "a second hello" });
          default:
            return { code, data: this.#decompress(data, maxBytes()) };
        }
      }
    } catch (error) {
      throw asBadMessage(error);
    } finally {
      clearInterval(pings);
    }
  }

  async #receive(maxBytes: () => number): Promise<RlpxMessage> {
    const frame = await readFrame(this.#reader, this.#codec, () => compressedBound(maxBytes()), SILENCE_LIMIT_MS);
    this.#bytesIn += frame.data.length;
    return frame;
  }

  #decompress(data: Uint8Array, maxBytes: number): Uint8Array {
    if (!this.#isCompressed) return data;
    const bytes = snappyBlockLength(data);
    if (bytes > maxBytes) throw new DevP2PError("devp2p/too-large", { bytes, maxBytes });
    return decompressSnappyBlock(data, maxBytes);
  }

  #ping(): void {
    if (performance.now() - this.#lastSentMs >= PING_INTERVAL_MS / 2) this.send(BASE_MESSAGES.ping, Uint8Array.of(0xc0));
  }

  /** Sends at once; `drained` resolves when the peer has read it. */
  send(code: number, data: Uint8Array): void {
    if (this.#isClosed || !this.#socket.writable) return;
    const frame = this.#codec.seal(rlpCode(code), this.#isCompressed ? compressSnappyBlock(data) : data);
    this.#lastSentMs = performance.now();
    this.#bytesOut += frame.length;
    this.#socket.write(frame);
  }

  /** Waits until little is under way to the peer. @throws {DevP2PError} devp2p/timeout: it takes nothing */
  async drained(): Promise<void> {
    if (!this.#socket.writableNeedDrain) return;
    await new Promise<void>((resolve, reject) => {
      const end = (error?: Error): void => {
        clearTimeout(timer);
        this.#socket.off("drain", end);
        this.#socket.off("close", end);
        if (error === undefined) resolve();
        else reject(error);
      };
      const timer = setTimeout(() => end(new DevP2PError("devp2p/timeout", { limitMs: DRAIN_LIMIT_MS })), DRAIN_LIMIT_MS);
      this.#socket.once("drain", () => end());
      this.#socket.once("close", () => end());
    });
  }

  /** Sends the reason, and ends the connection shortly after. */
  disconnect(reason: DisconnectReason): void {
    if (this.#isClosed) return;
    this.send(BASE_MESSAGES.disconnect, encodeRlp([rlpUint(DISCONNECT_REASONS[reason])]));
    this.#isClosed = true;
    this.#socket.end();
    setTimeout(() => this.#socket.destroy(), CLOSE_DELAY_MS);
  }

  destroy(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }
}

async function exchangeSecrets(
  socket: Socket,
  reader: SocketReader,
  { own, remoteKey, mayAnswer }: RlpxOptions,
): Promise<SessionSecrets> {
  const deadlineMs = performance.now() + HANDSHAKE_LIMIT_MS;
  const read = async (size: number): Promise<Uint8Array> => reader.read(size, Math.max(1, deadlineMs - performance.now()));
  const packet = async (): Promise<Uint8Array> => {
    const prefix = await read(SIZE_PREFIX_BYTES);
    return Buffer.concat([prefix, await read(handshakeBodySize(prefix))]);
  };
  if (remoteKey === undefined) {
    const auth = await packet();
    if (mayAnswer?.() === false) throw new DevP2PError("devp2p/refused");
    const { ack, secrets } = answerHandshake(own, auth);
    socket.write(ack);
    return secrets;
  }
  const initiator = new Initiator(own, remoteKey);
  socket.write(initiator.auth);
  return initiator.finish(await packet());
}

async function readFrame(
  reader: SocketReader,
  codec: FrameCodec,
  maxBytes: number | (() => number),
  silenceMs: number,
): Promise<RlpxMessage> {
  const size = codec.openHeader(await reader.read(FRAME_HEADER_BYTES, silenceMs));
  const max = (typeof maxBytes === "number" ? maxBytes : maxBytes()) + MAX_CODE_BYTES;
  if (size > max) throw new DevP2PError("devp2p/too-large", { bytes: size, maxBytes: max });
  const frame = codec.openBody(await reader.read(frameBodySize(size), FRAME_LIMIT_MS), size);
  const code = frame[0];
  // all known codes are single bytes
  if (code === undefined || (code > 0x7f && code !== 0x80))
    throw new DevP2PError("devp2p/bad-message", { reason: "no code of a message" });
  return { code: code === 0x80 ? 0 : code, data: frame.subarray(1) };
}

const rlpCode = (code: number): Uint8Array => Uint8Array.of(code === 0 ? 0x80 : code);

function asBadMessage(error: unknown): unknown {
  if (!isCodedError(error, "rlp/") && !isCodedError(error, "snappy/")) return error;
  return new DevP2PError("devp2p/bad-message", { reason: error.message }, { cause: error });
}
