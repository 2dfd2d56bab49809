import { createServer as createHttpServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import {
  bytesToHex,
  concatBytes,
  type Hex,
  hexToBytes,
  hexToFixedBytes,
  parseQuantity,
  privateKeyToAddress,
  signHash,
} from "@rnode/primitives";
import { encodeTransaction, type SignedTransaction, signTransaction } from "@rnode/protocol";
import { blockSigningHash } from "../block-signing.ts";

/** The forms of requests that a server may know. */
export type SignerForm = "blocks-v2" | "blocks-v1" | "blocks-kona" | "transactions";

export interface SignerServerOptions {
  /** 32 bytes */
  readonly key: Uint8Array;
  /** default: all */
  readonly forms?: readonly SignerForm[];
  /** certificates of both sides, TLS 1.3; `undefined`: plain HTTP */
  readonly tls?: SignerServerTls | undefined;
}

/** PEM texts. */
export interface SignerServerTls {
  readonly cert: string;
  readonly key: string;
  /** of the authority whose clients are let in */
  readonly clientCa: string;
}

type Json = Readonly<Record<string, unknown>>;
interface Asked {
  readonly method: string;
  readonly params: unknown;
  readonly headers: IncomingMessage["headers"];
}

class Refusal extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * A remote signer with op-signer's methods in all forms that clients send. It checks requests as strictly as Go and Rust servers do. Tests
 * make it misbehave. Spec: docs/protocol/05-services.md#remote-signer
 */
export class SignerServer {
  /** the signing key, which a test can set to another one than the requested address's */
  key: Uint8Array;
  forms: ReadonlySet<SignerForm>;
  /** changes answers before they are sent: a promise that never resolves is a signer that hangs */
  alter: (result: unknown, method: string) => unknown = (result) => result;
  /** adds 27 to the last byte of signatures, as some signers do */
  addsTo27 = false;
  /** every request that was answered or refused */
  readonly asked: Asked[] = [];
  private readonly options: SignerServerOptions;
  private readonly sockets = new Set<Socket>();
  private server: Server | HttpsServer | undefined;

  constructor(options: SignerServerOptions) {
    this.options = options;
    this.key = options.key;
    this.forms = new Set(options.forms ?? ["blocks-v2", "blocks-v1", "blocks-kona", "transactions"]);
  }

  get url(): string {
    return `${this.options.tls === undefined ? "http" : "https"}://127.0.0.1:${this.port}`;
  }

  get port(): number {
    if (this.server === undefined) throw new Error("it does not listen");
    return (this.server.address() as AddressInfo).port;
  }

  /** @param port 0: any */
  async listen(port = 0): Promise<this> {
    const { tls } = this.options;
    const onRequest: Parameters<typeof createHttpServer>[1] = (request, response) => {
      void this.answer(request).then((answer) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify(answer));
      });
    };
    const server = tls === undefined ? createHttpServer(onRequest) : createHttpsServer(tlsOptions(tls), onRequest);
    server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
    this.server = server;
    return this;
  }

  /** From now on new connections see these certificates; those that are open are cut. */
  replaceTls(tls: SignerServerTls): void {
    (this.server as HttpsServer).setSecureContext(tlsOptions(tls));
    this.cut();
  }

  /** Cuts all connections. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    this.cut();
    await closed;
  }

  private async answer(request: IncomingMessage): Promise<Json> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const {
      id = null,
      method,
      params,
    } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as {
      id?: unknown;
      method: string;
      params?: unknown;
    };
    this.asked.push({ method, params, headers: request.headers });
    try {
      const result = await this.alter(this.perform(method, params), method);
      return { jsonrpc: "2.0", id, result };
    } catch (error) {
      const { code, message } = error instanceof Refusal ? error : new Refusal(-32602, `invalid argument 0: ${String(error)}`);
      return { jsonrpc: "2.0", id, error: { code, message } };
    }
  }

  private perform(method: string, params: unknown): unknown {
    const first = (Array.isArray(params) ? params[0] : params) as Json;
    const isByName = !Array.isArray(params);
    switch (method) {
      case "health_status":
        return "v1.5.0";
      case "opsigner_signBlockPayloadV2":
        if (this.forms.has("blocks-v2") && !isByName) return this.signBlock(v2Request(first), first.senderAddress);
        break;
      case "opsigner_signBlockPayload":
        if (this.forms.has("blocks-kona") && isByName) {
          return { signature: this.signBlock(konaRequest(first), first.senderAddress) };
        }
        if (this.forms.has("blocks-v1") && !isByName) return this.signBlock(v1Request(first), first.senderAddress);
        break;
      case "eth_signTransaction":
        if (this.forms.has("transactions") && !isByName) return this.signTransaction(first);
        break;
    }
    throw new Refusal(-32601, `the method ${method} does not exist/is not available`);
  }

  private signBlock(request: Parameters<typeof blockSigningHash>[0], sender: unknown): Hex {
    this.assertOurs(sender);
    const { r, s, yParity } = signHash(blockSigningHash(request), this.key);
    return bytesToHex(concatBytes(r, s, Uint8Array.of(yParity + (this.addsTo27 ? 27 : 0))));
  }

  private signTransaction(args: Json): Hex {
    this.assertOurs(args.from);
    return bytesToHex(encodeTransaction(signTransaction(transactionOf(args), this.key)));
  }

  private assertOurs(sender: unknown): void {
    const ours = bytesToHex(privateKeyToAddress(this.options.key));
    if (sender !== null && sender !== undefined && sender !== ours)
      throw new Refusal(-32000, `no key for ${JSON.stringify(sender)}`);
  }
}

const tlsOptions = ({ cert, key, clientCa }: SignerServerTls) => ({
  cert,
  key,
  ca: clientCa,
  requestCert: true,
  rejectUnauthorized: true,
  minVersion: "TLSv1.3" as const,
});

const text = (value: unknown): string => {
  if (typeof value !== "string") throw new TypeError(`${JSON.stringify(value)} is no text`);
  return value;
};
const word = (value: unknown): Uint8Array => hexToFixedBytes(text(value), 32);

function v2Request({ domain, chainId, payloadHash }: Json) {
  return { domain: word(domain), chainId: BigInt(text(chainId)), payloadHash: word(payloadHash) };
}

function v1Request({ domain, chainId, payloadHash }: Json) {
  if (!Array.isArray(domain) || domain.length !== 32 || typeof chainId !== "number") throw new TypeError("not as Go encodes it");
  const hash = Buffer.from(text(payloadHash), "base64");
  if (hash.length !== 32) throw new TypeError("payloadHash has not 32 bytes");
  return { domain: Uint8Array.from(domain as number[]), chainId: BigInt(chainId), payloadHash: Uint8Array.from(hash) };
}

function konaRequest({ domain, chainId, payloadHash }: Json) {
  if (typeof chainId !== "number") throw new TypeError("chainId is no number");
  return { domain: word(domain), chainId: BigInt(chainId), payloadHash: word(payloadHash) };
}

/** As op-signer checks it. */
function transactionOf(args: Json): SignedTransaction {
  const known = ["from", "to", "gas", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas", "value", "nonce", "data", "input"];
  for (const name of known) if (!(name in args)) throw new Refusal(-32602, `${name} not specified`);
  if (args.gasPrice !== null) throw new Refusal(-32602, "only accepts maxFeePerGas/maxPriorityFeePerGas params");
  const quantity = (name: string): bigint => parseQuantity(text(args[name]));
  const list = args.accessList as readonly { address: string; storageKeys: readonly string[] }[];
  const common = {
    chainId: quantity("chainId"),
    nonce: quantity("nonce"),
    maxPriorityFeePerGas: quantity("maxPriorityFeePerGas"),
    maxFeePerGas: quantity("maxFeePerGas"),
    gasLimit: quantity("gas"),
    to: args.to === null ? undefined : hexToFixedBytes(text(args.to), 20),
    value: quantity("value"),
    data: hexToBytes(text(args.input)),
    accessList: list.map(({ address, storageKeys }) => ({
      address: hexToFixedBytes(address, 20),
      storageKeys: storageKeys.map(word),
    })),
  };
  if (args.blobVersionedHashes === undefined) return { type: 0x02, ...common };
  const hashes = (args.blobVersionedHashes as readonly string[]).map(word);
  return { type: 0x03, ...common, maxFeePerBlobGas: quantity("maxFeePerBlobGas"), blobVersionedHashes: hashes };
}
