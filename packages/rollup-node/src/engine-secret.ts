import { resolve } from "node:path";
import { readOrCreateJwtSecret } from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { StartError } from "./start-error.ts";

const DEFAULT_JWT_FILE = "rnode_jwt_secret.txt";

export interface EngineSecret {
  readonly path: string;
  readonly secret: Uint8Array;
}

/** Reads the secret shared with the execution client, and creates it if there is none. @throws {StartError} start/bad-config */
export function readEngineSecret(file: string | undefined, log: Logger): EngineSecret {
  const path = file ?? resolve(DEFAULT_JWT_FILE);
  try {
    const { secret, isNew } = readOrCreateJwtSecret(path);
    if (isNew) log.info("made a new engine secret: give the same file to the execution client", { path });
    return { path, secret };
  } catch (cause) {
    if (isCodedError(cause, "jwt/"))
      throw new StartError("start/bad-config", `--l2.jwt-secret: ${String(cause.data.reason)}`, { cause });
    if (cause instanceof Error && "syscall" in cause) {
      throw new StartError("start/bad-config", `--l2.jwt-secret: ${cause.message}`, { cause });
    }
    throw cause;
  }
}
