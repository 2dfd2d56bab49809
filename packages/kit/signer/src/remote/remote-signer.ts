import {
  type ClientTls,
  createRpcClient,
  METHOD_NOT_FOUND,
  type RpcClient,
  RpcError,
  RpcTransportError,
  TlsFiles,
} from "@rnode/jsonrpc";
import type { Logger, MetricFactory } from "@rnode/observe";
import {
  bigintToBytes,
  bytesToBigint,
  bytesToHex,
  type Clock,
  equalBytes,
  hexToBytes,
  isCodedError,
  recoverAddress,
  SECP256K1_HALF_N,
  SECP256K1_N,
  type Signature,
} from "@rnode/primitives";
import { decodeTransaction, recoverSender, type SignedTransaction, signingHash } from "@rnode/protocol";
import { type BlockSigningRequest, blockSigningHash } from "../block-signing.ts";
import { type Signer, SignerError, type SignerErrorCode } from "../signer.ts";
import { blockArgsV1, blockArgsV2, transactionArgs } from "./signer-json.ts";
import { createSignerMetrics, type SignerMetrics, type SigningOutcome } from "./signer-metrics.ts";

export interface RemoteSignerOptions {
  /** http or https */
  readonly endpoint: string;
  /** 20 bytes: whose signatures are wanted */
  readonly address: Uint8Array;
  /** sent with each request */
  readonly header: readonly { readonly name: string; readonly value: string }[];
  readonly tlsEnabled: boolean;
  /** of one request; `undefined`: that of `RemoteSignerDeps` */
  readonly timeoutMs?: number | undefined;
  /** files in PEM */
  readonly tlsCa: string;
  readonly tlsCert: string;
  readonly tlsKey: string;
}

export interface RemoteSignerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** of one request; default 3 s */
  readonly timeoutMs?: number | undefined;
}

const HEALTH_LIMIT_MS = 3_000;
const DEFAULT_TIMEOUT_MS = 10_000;
/** Between two attempts to reach a signer that did not answer at the start. */
const FIRST_CONTACT_MS = 1_000;
/** The same silence is not said again before. */
const REPEAT_SILENCE_MS = 30_000;

/**
 * Maximum time of a signature: two requests, because a signer without the newer form of the block method gets the older one next.
 */
export const signingLimitMs = (timeoutMs: number = DEFAULT_TIMEOUT_MS): number => 2 * timeoutMs + 2_000;
const V2 = "opsigner_signBlockPayloadV2";
const V1 = "opsigner_signBlockPayload";
const TLS_OPTIONS = { ca: "--signer.tls.ca", cert: "--signer.tls.cert", key: "--signer.tls.key" };

/** @throws {TlsFileError} a file cannot be used */
export const tlsFilesOf = ({ tlsEnabled, tlsCa: ca, tlsCert: cert, tlsKey: key }: RemoteSignerOptions): TlsFiles | undefined =>
  tlsEnabled ? new TlsFiles({ ca, cert, key }, TLS_OPTIONS) : undefined;

type What = "block" | "transaction";
/** Why an answer does not match the request. */
class WrongAnswer extends Error {}

/**
 * A key on another machine, behind op-signer's RPC. Answers are verified: a signature must be of the configured address and of
 * exactly the sent data. Spec: docs/protocol/05-services.md#remote-signer
 */
export class RemoteSigner implements Signer {
  readonly address: Uint8Array;
  private readonly options: RemoteSignerOptions;
  private readonly deps: RemoteSignerDeps;
  private readonly metrics: SignerMetrics;
  private readonly files: TlsFiles | undefined;
  private readonly stop = new AbortController();
  private client: RpcClient;
  /** by client, as one may have been replaced: its requests under way */
  private readonly underWay = new Map<RpcClient, number>();
  private watching: Promise<void> = Promise.resolve();
  private reaching: Promise<void> = Promise.resolve();
  /** the form of block requests that this signer knows, as far as we know */
  private form: typeof V1 | typeof V2 = V2;

  private constructor(options: RemoteSignerOptions, deps: RemoteSignerDeps) {
    this.options = options;
    this.deps = deps;
    this.address = options.address;
    this.metrics = createSignerMetrics(deps.metrics);
    this.files = tlsFilesOf(options);
    this.client = this.connect();
  }

  /**
   * A signer that has said that it is there, or does not answer yet: then it is asked until it does, while signatures fail.
   *
   * @throws {TlsFileError} a file cannot be used; {SignerError} what answers is not a signer
   */
  static async open(options: RemoteSignerOptions, deps: RemoteSignerDeps): Promise<RemoteSigner> {
    const signer = new RemoteSigner(options, deps);
    try {
      await signer.begin();
      return signer;
    } catch (error) {
      await signer.close();
      throw error;
    }
  }

  get endpoint(): string {
    return this.client.endpoint;
  }

  signBlock(request: BlockSigningRequest, signal?: AbortSignal): Promise<Signature> {
    const hash = blockSigningHash(request);
    return this.measured("block", async () => this.checkedSignature(await this.askForBlock(request, signal), hash));
  }

  /** Only transactions of types 2 and 3: op-signer has no form for others. */
  signTransaction(transaction: SignedTransaction): Promise<Uint8Array> {
    return this.measured("transaction", async () => {
      const { type } = transaction;
      if (type !== 0x02 && type !== 0x03) {
        throw this.error("signer/refused", `a remote signer is not asked for transactions of type ${type}`);
      }
      const answer = await this.call("eth_signTransaction", [transactionArgs(transaction, this.address)]);
      return this.checkedTransaction(answer, transaction);
    });
  }

  async close(): Promise<void> {
    this.stop.abort();
    await Promise.all([this.watching, this.reaching]);
    await Promise.all([...new Set([this.client, ...this.underWay.keys()])].map((client) => client.close()));
  }

  private async begin(): Promise<void> {
    const { clock, log } = this.deps;
    const { files } = this;
    if (files?.isKeyExposed) log.warn("others than its owner may read the private key (--signer.tls.key): give it mode 0600");
    try {
      await this.greet();
    } catch (error) {
      if (!isCodedError(error, "signer/unavailable")) throw error;
      this.saySilence(error);
      this.reaching = this.reach();
    }
    if (files !== undefined) this.watching = files.watch({ clock, log }, "signer", () => this.reconnect(), this.stop.signal);
  }

  private saySilence(error: Error): void {
    this.deps.log.warn("the remote signer (--signer.endpoint) does not answer yet: nothing is signed until it does", {
      endpoint: this.endpoint,
      reason: error.message,
    });
  }

  /** Ends once the signer has answered, or at `close`. */
  private async reach(): Promise<void> {
    const { clock, log } = this.deps;
    let saidMs = clock.monotonicMs();
    for (;;) {
      await clock.sleep(FIRST_CONTACT_MS, this.stop.signal);
      if (this.stop.signal.aborted) return;
      try {
        return await this.greet();
      } catch (error) {
        if (this.stop.signal.aborted) return;
        if (!(error instanceof SignerError)) throw error;
        if (clock.monotonicMs() - saidMs < REPEAT_SILENCE_MS) continue;
        saidMs = clock.monotonicMs();
        if (error.code === "signer/unavailable") this.saySilence(error);
        else log.error("what answers at --signer.endpoint is not a signer", { endpoint: this.endpoint, reason: error.message });
      }
    }
  }

  private async greet(): Promise<void> {
    const { log } = this.deps;
    const status = await this.call("health_status", [], { timeoutMs: HEALTH_LIMIT_MS, signal: this.stop.signal });
    if (typeof status !== "string") throw this.error("signer/wrong-answer", "health_status is not a text");
    const { files } = this;
    log.info("remote signer", {
      endpoint: this.endpoint,
      address: bytesToHex(this.address),
      version: status.slice(0, 100),
      tls: files !== undefined,
    });
  }

  private connect(): RpcClient {
    const tls = this.files?.current as ClientTls | undefined; // all three options have values
    const { endpoint: url, header } = this.options;
    const timeoutMs = this.options.timeoutMs ?? this.deps.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const headers = Object.fromEntries(header.map(({ name, value }) => [name.toLowerCase(), value]));
    return createRpcClient({ url, timeoutMs, headers, tls, maxResponseBytes: 4 * 1024 * 1024 });
  }

  /** New connections have the new certificate; requests under way end as they began. */
  private reconnect(): void {
    const former = this.client;
    this.client = this.connect();
    if ((this.underWay.get(former) ?? 0) === 0) void former.close();
  }

  private async call(method: string, params: readonly unknown[], options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
    const { client, underWay } = this;
    underWay.set(client, (underWay.get(client) ?? 0) + 1);
    try {
      return await againIfCut(() => client.call(method, params, options));
    } catch (cause) {
      if (cause instanceof RpcError && cause.code !== METHOD_NOT_FOUND) throw this.error("signer/refused", cause.message, cause);
      if (cause instanceof RpcTransportError) {
        const reason = reasonOf(cause);
        const hint =
          this.files !== undefined && cause.code === "rpc/unreachable" && CUT.test(reason)
            ? `${reason}: perhaps it does not accept our certificate`
            : reason;
        throw this.error("signer/unavailable", hint, cause);
      }
      throw cause;
    } finally {
      const left = underWay.get(client)! - 1;
      if (left > 0) underWay.set(client, left);
      else underWay.delete(client);
      if (left === 0 && client !== this.client) void client.close();
    }
  }

  /** In the form that it knows; which one that is, is found out again when it knows it no more. */
  private async askForBlock(request: BlockSigningRequest, signal: AbortSignal | undefined): Promise<unknown> {
    const options = signal === undefined ? {} : { signal };
    const ask = (form: typeof V1 | typeof V2): Promise<unknown> => {
      if (form === V2) return this.call(form, [blockArgsV2(request, this.address)], options);
      if (request.chainId <= Number.MAX_SAFE_INTEGER) return this.call(form, [blockArgsV1(request, this.address)], options);
      throw this.error("signer/refused", `it does not know ${V2}, and ${V1} has no place for chain id ${request.chainId}`);
    };
    const other = this.form === V2 ? V1 : V2;
    try {
      return await ask(this.form);
    } catch (error) {
      if (!isUnknownMethod(error)) throw error;
    }
    try {
      const answer = await ask(other);
      this.form = other;
      return answer;
    } catch (error) {
      if (!isUnknownMethod(error)) throw error;
      throw this.error("signer/refused", `it knows neither ${V2} nor ${V1}: is it a signer of blocks?`, error);
    }
  }

  /** @param answer 65 bytes as hex, or an object that has them as `signature` */
  private checkedSignature(answer: unknown, hash: Uint8Array): Signature {
    const text = isRecord(answer) ? answer.signature : answer;
    const bytes = bytesOf(text, "a signature of 65 bytes");
    if (bytes.length !== 65) throw new WrongAnswer(`a signature of ${bytes.length} bytes instead of 65`);
    const v = bytes[64]!;
    if (v !== 0 && v !== 1 && v !== 27 && v !== 28) throw new WrongAnswer(`a signature whose v is ${v}`);
    const signature = lowS(bytes.slice(0, 32), bytes.slice(32, 64), v >= 27 ? v - 27 : v);
    this.assertOurs(() => recoverAddress(hash, signature.r, signature.s, signature.yParity));
    return signature;
  }

  /** @param answer the raw transaction as hex, or geth's object that has it as `raw` */
  private checkedTransaction(answer: unknown, asked: SignedTransaction): Uint8Array {
    const raw = bytesOf(isRecord(answer) ? answer.raw : answer, "a signed transaction");
    let signed: ReturnType<typeof decodeTransaction>;
    try {
      signed = decodeTransaction(raw);
    } catch (cause) {
      if (!isCodedError(cause)) throw cause;
      throw new WrongAnswer(`what came is not a transaction: ${cause.message}`);
    }
    if (signed.type !== asked.type || !equalBytes(signingHash(signed), signingHash(asked))) {
      throw new WrongAnswer("the transaction that came back is another one than was asked for");
    }
    this.assertOurs(() => recoverSender(signed));
    return raw;
  }

  /** @param recover the address that signed; throws if there is none */
  private assertOurs(recover: () => Uint8Array): void {
    let actual: Uint8Array;
    try {
      actual = recover();
    } catch (cause) {
      if (!isCodedError(cause)) throw cause;
      throw new WrongAnswer(`the signature is no signature: ${cause.message}`);
    }
    if (equalBytes(actual, this.address)) return;
    throw new WrongAnswer(`it signed as ${bytesToHex(actual)}, but --signer.address is ${bytesToHex(this.address)}`);
  }

  private async measured<T>(what: What, sign: () => Promise<T>): Promise<T> {
    const { requests, seconds } = this.metrics;
    const stop = seconds.time({ what });
    let outcome: SigningOutcome = "signed";
    try {
      return await sign();
    } catch (error) {
      const told = this.asSignerError(error);
      outcome = told.code === "signer/refused" ? "refused" : told.code === "signer/wrong-answer" ? "wrong-answer" : "unavailable";
      throw told;
    } finally {
      stop();
      requests.inc({ what, outcome });
    }
  }

  private asSignerError(error: unknown): SignerError {
    if (error instanceof SignerError) return error;
    if (error instanceof WrongAnswer) return this.error("signer/wrong-answer", error.message);
    if (error instanceof RpcError) return this.error("signer/refused", error.message, error);
    throw error;
  }

  private error(code: SignerErrorCode, reason: string, cause?: unknown): SignerError {
    return new SignerError(code, { endpoint: this.endpoint, reason }, cause === undefined ? {} : { cause });
  }
}

/** The client's error if a server closes without an alert: over TLS 1.3 the client is connected by then. */
const CUT = /closed|ECONNRESET|socket hang up/;

/** A connection that waited may have been closed at the other end. Signing twice is signing once, so that it is tried again at once. */
async function againIfCut<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof RpcTransportError && error.code === "rpc/unreachable")) throw error;
    return await ask();
  }
}

const isUnknownMethod = (error: unknown): boolean => error instanceof RpcError && error.code === METHOD_NOT_FOUND;

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Without the endpoint and the method, which the error's sentence has. */
function reasonOf({ code, data, message }: RpcTransportError): string {
  if (code === "rpc/timeout") return `nothing within ${data.timeoutMs} ms (--signer.timeout)`;
  return code === "rpc/http-status" ? `HTTP status ${data.status}` : String(data.reason ?? message);
}

function bytesOf(text: unknown, wanted: string): Uint8Array {
  if (typeof text !== "string" || !/^0x(?:[0-9a-fA-F]{2})+$/.test(text)) throw new WrongAnswer(`what came is not ${wanted} in hex`);
  return hexToBytes(text);
}

/** The same signature with s in the lower half, as peers want it. */
function lowS(r: Uint8Array, s: Uint8Array, yParity: number): Signature {
  const value = bytesToBigint(s);
  if (value <= SECP256K1_HALF_N || value >= SECP256K1_N) return { r, s, yParity: yParity === 0 ? 0 : 1 };
  return { r, s: bigintToBytes(SECP256K1_N - value, 32), yParity: yParity === 0 ? 1 : 0 };
}
