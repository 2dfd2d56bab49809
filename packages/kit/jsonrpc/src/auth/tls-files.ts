import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { createSecureContext } from "node:tls";
import { errorText, type Logger } from "@rnode/observe";
import { type Clock, codedErrors } from "@rnode/primitives";
import type { ClientTls } from "../wire/rpc-client-types.ts";

type TlsFileErrorCode =
  /** the file that an option names cannot be used */
  "tls/bad-file";

export class TlsFileError extends codedErrors<TlsFileErrorCode>({
  "tls/bad-file": "{option} cannot be used",
}) {}

/** Paths of files in PEM; a certificate comes with its key. */
export interface TlsPaths {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** The options that name the files, for messages: `--etcd.ca`. */
export type TlsOptionNames = Readonly<Record<keyof TlsPaths, string>>;

/** Interval of checks of the files. */
const LOOK_EVERY_MS = 2_000;

/**
 * The TLS files of a client: the CA is read once, certificate and key again if one of them has changed. They are polled instead
 * of watched, because mounted secrets and network file systems have no change events. A pair that does not match, as during a
 * replacement, is not used: the former pair stays.
 */
export class TlsFiles {
  readonly #paths: TlsPaths;
  readonly #options: TlsOptionNames;
  readonly #ca: string | undefined;
  #seen: string;
  #pair: Pick<ClientTls, "cert" | "key"> | undefined;

  /** Reads all files. @throws {TlsFileError} */
  constructor({ ca, cert, key }: TlsPaths, options: TlsOptionNames) {
    const absolute = (path: string | undefined): string | undefined => (path === undefined ? undefined : resolve(path));
    this.#paths = { ca: absolute(ca), cert: absolute(cert), key: absolute(key) };
    this.#options = options;
    if (this.#paths.ca !== undefined) {
      this.#ca = readPem(options.ca, this.#paths.ca, "CERTIFICATE");
      assertUsable(options.ca, this.#paths.ca, { ca: this.#ca });
    }
    this.#seen = this.#look();
    this.#pair = this.#readPair();
  }

  get current(): Partial<ClientTls> {
    return { ...(this.#ca !== undefined && { ca: this.#ca }), ...this.#pair };
  }

  /** Whether users other than the owner may read the private key's file. */
  get isKeyExposed(): boolean {
    const { key } = this.#paths;
    return key !== undefined && (statSync(key).mode & 0o077) !== 0;
  }

  /**
   * Until `signal` is aborted, calls `onChange` when another valid pair is available. @param peer the user of the pair, for the
   * log
   */
  async watch(
    { clock, log }: { readonly clock: Clock; readonly log: Logger },
    peer: string,
    onChange: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#pair === undefined) return;
    for (;;) {
      await clock.sleep(LOOK_EVERY_MS, signal);
      if (signal.aborted) return;
      const looked = this.#look();
      if (looked === this.#seen) continue;
      this.#seen = looked;
      try {
        const pair = this.#readPair();
        if (pair?.cert === this.#pair.cert && pair.key === this.#pair.key) continue;
        this.#pair = pair!;
        log.info("the client certificate was replaced", { peer, file: this.#paths.cert });
        onChange();
      } catch (error) {
        log.warn("the new client certificate cannot be used, the former one stays", { peer, reason: errorText(error) });
      }
    }
  }

  /** A stamp of the files' versions; a missing file is also a version. */
  #look(): string {
    return [this.#paths.cert, this.#paths.key]
      .map((path) => {
        const stat = path === undefined ? undefined : statSync(path, { bigint: true, throwIfNoEntry: false });
        return stat === undefined ? "none" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
      })
      .join(", ");
  }

  #readPair(): Pick<ClientTls, "cert" | "key"> | undefined {
    const { cert: certPath, key: keyPath } = this.#paths;
    if (certPath === undefined || keyPath === undefined) return undefined;
    const { cert: certOption, key: keyOption } = this.#options;
    const cert = readPem(certOption, certPath, "CERTIFICATE");
    const key = readPem(keyOption, keyPath, "PRIVATE KEY");
    assertUsable(certOption, certPath, { cert });
    assertUsable(keyOption, keyPath, { key });
    assertUsable(keyOption, `${keyPath} and ${certPath}`, { cert, key });
    return { cert, key };
  }
}

const bad = (option: string, reason: string, cause?: unknown): TlsFileError =>
  new TlsFileError("tls/bad-file", { option, reason }, cause === undefined ? {} : { cause });

/** OpenSSL ignores content that is not PEM. */
function readPem(option: string, path: string, kind: "CERTIFICATE" | "PRIVATE KEY"): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw bad(option, errorText(cause), cause);
  }
  if (!/-----BEGIN /.test(text) || !text.includes(`${kind}-----`))
    throw bad(option, `${path} holds no ${kind.toLowerCase()} in PEM form`);
  return text;
}

/** OpenSSL's messages, which quote nothing of the files. */
function assertUsable(option: string, path: string, parts: Partial<ClientTls>): void {
  try {
    createSecureContext(parts);
  } catch (cause) {
    throw bad(option, `${path}: ${errorText(cause)}`, cause);
  }
}
