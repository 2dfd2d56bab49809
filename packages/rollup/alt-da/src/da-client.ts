import { noMetrics } from "@rnode/observe";
import { bytesToHex, isCodedError } from "@rnode/primitives";
import { type DaCommitment, decodeDaCommitment, encodeDaCommitment, isInputOf, keccakCommitment } from "@rnode/protocol";
import { AltDaError } from "./alt-da-error.ts";
import { createDaMetrics, type DaMetrics } from "./da-metrics.ts";

export interface DaClientOptions {
  /** of the server, with or without a slash at its end */
  readonly url: string;
  /** the server computes the commitments ("generic"); false: they are keccak256 of the data */
  readonly usesService: boolean;
  /** compare answers with the commitment; not possible for a generic one */
  readonly verifiesOnRead: boolean;
  /** 0: none */
  readonly getTimeoutMs: number;
  readonly putTimeoutMs: number;
  /** at the same time; further ones wait */
  readonly maxRequests: number;
}

/** Far above derivation's limit, so no batch submitter publishes more. */
const MAX_INPUT_BYTES = 16 * 1024 * 1024;
const MAX_COMMITMENT_BYTES = 4096;
const NOT_FOUND = 404;
const OK = 200;

/**
 * Client of a DA server. It does not retry: derivation and the batch submitter retry at their own pace. Spec:
 * docs/protocol/05-services.md#da-server-http
 */
export class DaClient {
  readonly #options: DaClientOptions;
  readonly #base: string;
  /** how errors name it: without credentials */
  readonly #name: string;
  readonly #metrics: DaMetrics;
  readonly #closing = new AbortController();
  #underWay = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: DaClientOptions, metrics: DaMetrics = createDaMetrics(noMetrics)) {
    this.#options = options;
    this.#metrics = metrics;
    this.#base = options.url.replace(/\/+$/, "");
    this.#name = new URL(options.url).origin;
  }

  /**
   * The data of a commitment; undefined if the server does not have it.
   *
   * @throws {AltDaError} alt-da/unavailable, alt-da/bad-answer, alt-da/wrong-data
   */
  async get(commitment: DaCommitment): Promise<Uint8Array | undefined> {
    const finish = this.#metrics.request("get");
    try {
      const input = await this.#get(commitment);
      finish(input === undefined ? "not-found" : "ok", input?.length ?? 0);
      return input;
    } catch (error) {
      finish(isCodedError(error, "alt-da/wrong-data") ? "wrong-data" : "failed", 0);
      throw error;
    }
  }

  async #get(commitment: DaCommitment): Promise<Uint8Array | undefined> {
    const hex = bytesToHex(encodeDaCommitment(commitment));
    const { status, body } = await this.#request(`/get/${hex}`, undefined, this.#options.getTimeoutMs, MAX_INPUT_BYTES);
    if (status === NOT_FOUND) return undefined;
    if (status !== OK) throw this.#badAnswer("a get", `HTTP ${status}`);
    if (this.#options.verifiesOnRead && !isInputOf(commitment, body)) {
      throw new AltDaError("alt-da/wrong-data", { server: this.#name, commitment: hex });
    }
    return body;
  }

  /** Stores data. @returns its commitment. @throws {AltDaError} alt-da/unavailable, alt-da/bad-answer, alt-da/empty-input */
  async put(input: Uint8Array): Promise<DaCommitment> {
    if (input.length === 0) throw new AltDaError("alt-da/empty-input");
    const finish = this.#metrics.request("put");
    try {
      const commitment = await this.#put(input);
      finish("ok", input.length);
      return commitment;
    } catch (error) {
      finish("failed", 0);
      throw error;
    }
  }

  async #put(input: Uint8Array): Promise<DaCommitment> {
    const { usesService, putTimeoutMs } = this.#options;
    const own = usesService ? undefined : keccakCommitment(input);
    const path = own === undefined ? "/put" : `/put/${bytesToHex(encodeDaCommitment(own))}`;
    const { status, body } = await this.#request(path, input, putTimeoutMs, MAX_COMMITMENT_BYTES);
    if (status !== OK) throw this.#badAnswer("a put", `HTTP ${status}`);
    return own ?? this.#readCommitment(body);
  }

  close(): void {
    this.#closing.abort(new Error("closed"));
  }

  #readCommitment(body: Uint8Array): DaCommitment {
    try {
      return decodeDaCommitment(body);
    } catch (cause) {
      throw new AltDaError(
        "alt-da/bad-answer",
        { server: this.#name, what: "a put", got: bytesToHex(body.subarray(0, 64)) },
        { cause },
      );
    }
  }

  #badAnswer(what: string, got: string): AltDaError {
    return new AltDaError("alt-da/bad-answer", { server: this.#name, what, got });
  }

  async #request(
    path: string,
    input: Uint8Array | undefined,
    timeoutMs: number,
    maxBytes: number,
  ): Promise<{ readonly status: number; readonly body: Uint8Array }> {
    await this.#takePlace();
    try {
      return await this.#send(path, input, timeoutMs, maxBytes);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay--;
      else next();
    }
  }

  /** A free slot goes to the longest waiting request. */
  async #takePlace(): Promise<void> {
    if (this.#underWay < this.#options.maxRequests) this.#underWay++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async #send(
    path: string,
    input: Uint8Array | undefined,
    timeoutMs: number,
    maxBytes: number,
  ): Promise<{ readonly status: number; readonly body: Uint8Array }> {
    const { signal: closing } = this.#closing;
    const signal = timeoutMs === 0 ? closing : AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]);
    try {
      const response = await fetch(`${this.#base}${path}`, {
        signal,
        redirect: "error",
        ...(input === undefined
          ? {}
          : { method: "POST", body: new Uint8Array(input), headers: { "content-type": "application/octet-stream" } }),
      });
      return { status: response.status, body: await readBounded(response, maxBytes) };
    } catch (cause) {
      if (cause instanceof TooLarge) throw this.#badAnswer(input === undefined ? "a get" : "a put", `more than ${maxBytes} bytes`);
      throw new AltDaError("alt-da/unavailable", { server: this.#name, reason: reasonOf(cause) }, { cause });
    }
  }
}

class TooLarge extends Error {}

async function readBounded(response: Response, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > maxBytes) {
      await response.body?.cancel().catch(() => {});
      throw new TooLarge();
    }
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}

/** `fetch` wraps the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
