import { checkJwt, isLoopback, type RestrictedMethods, RpcError, readJwtSecret, SERVER_ERROR } from "@rnode/jsonrpc";
import type { Clock } from "@rnode/primitives";
import { isCodedError } from "@rnode/primitives";
import { UserError } from "@rnode/program";

/** Methods that only look: anybody who reaches the server may use them, as upstream. */
const OPEN = new Set([
  "conductor_active",
  "conductor_paused",
  "conductor_stopped",
  "conductor_sequencerHealthy",
  "conductor_leader",
  "conductor_leaderWithID",
  "conductor_leaderOverridden",
  "conductor_clusterMembership",
]);

/**
 * The methods of `conductor_` that change the cluster: this machine may use them, and whoever has the secret.
 *
 * @throws {UserError} the file holds no secret
 */
export function restrictedMethods(
  { jwtSecret: file }: { readonly jwtSecret: string | undefined },
  names: readonly string[],
  clock: Pick<Clock, "unixMs">,
): RestrictedMethods {
  const secret = file === undefined ? undefined : readSecret(file);
  return {
    names: new Set(names.filter((name) => name.startsWith("conductor_") && !OPEN.has(name))),
    isAllowed: (authorization, remoteAddress) =>
      isLoopback(remoteAddress) ||
      (secret !== undefined && checkJwt(secret, authorization, clock.unixMs() / 1000).kind === "valid"),
    refusal: (name) =>
      new RpcError(
        SERVER_ERROR,
        secret === undefined
          ? `${name} changes the cluster: call it from the conductor's machine, or start rconductor with --rpc.jwt-secret and send a token`
          : `${name} changes the cluster: send a token made with the secret of --rpc.jwt-secret`,
      ),
  };
}

function readSecret(file: string): Uint8Array {
  try {
    return readJwtSecret(file);
  } catch (cause) {
    const isKnown = isCodedError(cause, "jwt/") || (cause instanceof Error && "syscall" in cause);
    if (!isKnown) throw cause;
    throw new UserError(`--rpc.jwt-secret: ${isCodedError(cause) ? String(cause.data.reason) : (cause as Error).message}`, {
      cause,
    });
  }
}
