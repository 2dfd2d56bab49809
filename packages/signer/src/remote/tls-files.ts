import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { createSecureContext } from "node:tls";
import type { ClientTls } from "@rnode/jsonrpc";
import { errorText, type Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { SignerError } from "../signer.ts";

export interface TlsPaths {
  readonly tlsCa: string;
  readonly tlsCert: string;
  readonly tlsKey: string;
}

/** How often the files are looked at. */
export const LOOK_EVERY_MS = 2_000;

/**
 * The files of a client's TLS: the authority is read once, certificate and key again whenever one of them has changed. They are looked at
 * instead of watched, so that mounted secrets and network file systems count too. A pair that does not fit, as in the midst of being
 * replaced, is not used: the former one stays.
 */
export class TlsFiles {
  private readonly paths: TlsPaths;
  private readonly ca: string;
  private seen: string;
  private pair: Pick<ClientTls, "cert" | "key">;

  /** Reads all files. @throws {SignerError} signer/bad-setting */
  constructor(paths: TlsPaths) {
    this.paths = { tlsCa: resolve(paths.tlsCa), tlsCert: resolve(paths.tlsCert), tlsKey: resolve(paths.tlsKey) };
    const { tlsCa } = this.paths;
    this.ca = readText("tls.ca", tlsCa);
    assertPem("tls.ca", tlsCa, this.ca, "CERTIFICATE-----");
    assertUsable("tls.ca", tlsCa, { ca: this.ca });
    this.seen = this.look();
    this.pair = this.readPair();
  }

  get current(): ClientTls {
    return { ca: this.ca, ...this.pair };
  }

  /** Whether anybody but the owner may read the private key's file. */
  get isKeyExposed(): boolean {
    return (statSync(this.paths.tlsKey).mode & 0o077) !== 0;
  }

  /** Until `signal` is aborted, calls `onChange` after there is another pair that can be used. */
  async watch(
    { clock, log }: { readonly clock: Clock; readonly log: Logger },
    onChange: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    for (;;) {
      await clock.sleep(LOOK_EVERY_MS, signal);
      if (signal.aborted) return;
      const looked = this.look();
      if (looked === this.seen) continue;
      this.seen = looked;
      try {
        const pair = this.readPair();
        if (pair.cert === this.pair.cert && pair.key === this.pair.key) continue;
        this.pair = pair;
        log.info("the certificate for the signer was replaced", { file: this.paths.tlsCert });
        onChange();
      } catch (error) {
        log.warn("the new certificate for the signer cannot be used, the former one stays", { reason: errorText(error) });
      }
    }
  }

  /** What tells a file from its former version; a file that is not there is a version too. */
  private look(): string {
    return [this.paths.tlsCert, this.paths.tlsKey]
      .map((path) => {
        const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
        return stat === undefined ? "none" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
      })
      .join(", ");
  }

  private readPair(): Pick<ClientTls, "cert" | "key"> {
    const { tlsCert, tlsKey } = this.paths;
    const cert = readText("tls.cert", tlsCert);
    const key = readText("tls.key", tlsKey);
    assertPem("tls.cert", tlsCert, cert, "CERTIFICATE-----");
    assertPem("tls.key", tlsKey, key, "PRIVATE KEY-----");
    assertUsable("tls.cert", tlsCert, { cert });
    assertUsable("tls.key", tlsKey, { key });
    assertUsable("tls.key", `${tlsKey} and ${tlsCert}`, { cert, key });
    return { cert, key };
  }
}

const bad = (option: string, reason: string, cause?: unknown): SignerError =>
  new SignerError("signer/bad-setting", { option: `--signer.${option}`, reason }, cause === undefined ? {} : { cause });

function readText(option: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw bad(option, errorText(cause), cause);
  }
}

/** OpenSSL ignores what is no PEM. */
function assertPem(option: string, path: string, text: string, kind: string): void {
  if (!/-----BEGIN /.test(text) || !text.includes(kind))
    throw bad(option, `${path} holds no ${kind.replace("-----", "").toLowerCase()} in PEM form`);
}

/** OpenSSL's own words, which quote nothing of the files. */
function assertUsable(option: string, path: string, parts: Partial<ClientTls>): void {
  try {
    createSecureContext(parts);
  } catch (cause) {
    throw bad(option, `${path}: ${errorText(cause)}`, cause);
  }
}
