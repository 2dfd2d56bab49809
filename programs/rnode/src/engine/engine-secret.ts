import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { namingSecretOption, readOrCreateJwtSecret, readSecretOf, type SecretOption } from "@rnode/jsonrpc";
import { defaultDataFolder, JWT_FILE } from "@rnode/networks";
import type { Logger } from "@rnode/observe";
import { makeFolder } from "@rnode/program";
import type { RnodeOptions } from "../options.ts";

export interface EngineSecret {
  readonly path: string;
  readonly secret: Uint8Array;
}

const L2_JWT_SECRET: SecretOption = {
  option: "--l2.jwt-secret",
  remedy: "give the file that the execution client was started with (--authrpc.jwtsecret)",
};

type SecretChoice = Pick<RnodeOptions, "l2" | "files">;

/**
 * Reads the secret shared with the execution client. A file that the options name must be there, as a new secret at a mistyped path
 * would never be that of the execution client; only the default file is created, which is that of an
 * execution client with the same data folder: the program that starts first makes it.
 *
 * @throws {CodedError} jwt/bad-option
 */
export function readEngineSecret(options: SecretChoice, l2ChainId: bigint, log: Logger): EngineSecret {
  const file = options.l2.jwtSecret;
  if (file !== undefined) return { path: file, secret: readSecretOf(L2_JWT_SECRET, file) };
  const path = defaultPath(options, l2ChainId);
  const { secret, isNew } = namingSecretOption({ option: L2_JWT_SECRET.option }, () => {
    makeFolder(dirname(path));
    return readOrCreateJwtSecret(path);
  });
  if (isNew) log.info("made a new engine secret: give the same file to the execution client", { path });
  return { path, secret };
}

/** Refuses what `readEngineSecret` refuses, and makes no file. @throws {CodedError} jwt/bad-option */
export function checkEngineSecret(options: SecretChoice, l2ChainId: bigint): void {
  const path = options.l2.jwtSecret ?? defaultPath(options, l2ChainId);
  if (options.l2.jwtSecret !== undefined || existsSync(path)) readSecretOf(L2_JWT_SECRET, path);
}

/** The secret of the conductor's `--rpc.jwt-secret`. @throws {CodedError} jwt/bad-option */
export const readConductorSecret = (path: string): Uint8Array =>
  readSecretOf(
    { option: "--conductor.jwt-secret", remedy: "give the file that rconductor was started with (--rpc.jwt-secret)" },
    path,
  );

const defaultPath = ({ files: { datadir } }: SecretChoice, l2ChainId: bigint): string =>
  join(datadir ?? defaultDataFolder(l2ChainId), JWT_FILE);
