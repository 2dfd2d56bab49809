import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { readJwtSecret, readOrCreateJwtSecret } from "@rnode/jsonrpc";
import { defaultDataFolder, JWT_FILE } from "@rnode/networks";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { makeFolder } from "@rnode/program";
import type { RnodeOptions } from "./options.ts";
import { StartError } from "./start-error.ts";

/** In the working directory, where earlier versions made it. */
const EARLIER_JWT_FILE = "rnode_jwt_secret.txt";

export interface EngineSecret {
  readonly path: string;
  readonly secret: Uint8Array;
}

/**
 * Reads the secret shared with the execution client. A file that the options name must be there, as a new secret at a mistyped path
 * would never be that of the execution client; only the default file is created, which is that of an
 * execution client with the same data folder: the program that starts first makes it.
 *
 * @throws {StartError} start/bad-config
 */
export function readEngineSecret(
  { l2: { jwtSecret: file }, files: { datadir } }: Pick<RnodeOptions, "l2" | "files">,
  l2ChainId: bigint,
  log: Logger,
): EngineSecret {
  const path = file ?? defaultPath(datadir, l2ChainId);
  if (file !== undefined) {
    const remedy = "give the file that the execution client was started with (--authrpc.jwtsecret)";
    return { path, secret: inWords("l2.jwt-secret", () => readJwtSecret(path), remedy) };
  }
  const { secret, isNew } = inWords("l2.jwt-secret", () => {
    makeFolder(dirname(path));
    return readOrCreateJwtSecret(path);
  });
  if (isNew) log.info("made a new engine secret: give the same file to the execution client", { path });
  return { path, secret };
}

/** The secret of the conductor's `--rpc.jwt-secret`. @throws {StartError} start/bad-config */
export const readConductorSecret = (path: string): Uint8Array =>
  inWords("conductor.jwt-secret", () => readJwtSecret(path), "give the file that rconductor was started with (--rpc.jwt-secret)");

function inWords<T>(option: string, read: () => T, remedy?: string): T {
  try {
    return read();
  } catch (cause) {
    if (isCodedError(cause, "jwt/"))
      throw new StartError("start/bad-config", `--${option}: ${String(cause.data.reason)}`, { cause });
    if (!(cause instanceof Error && "syscall" in cause)) throw cause;
    const text = [`--${option}: ${cause.message}`, ...(remedy === undefined ? [] : [remedy])].join(": ");
    throw new StartError("start/bad-config", text, { cause });
  }
}

function defaultPath(datadir: string | undefined, l2ChainId: bigint): string {
  const earlier = resolve(EARLIER_JWT_FILE);
  if (datadir === undefined && existsSync(earlier)) return earlier;
  return join(datadir ?? defaultDataFolder(l2ChainId), JWT_FILE);
}
