import {
  checkJwt,
  isLoopback,
  type RestrictedMethods,
  RpcError,
  readSecretOf,
  SERVER_ERROR,
  type SecretOption,
} from "@rnode/jsonrpc";
import type { Clock } from "@rnode/primitives";

export const JWT_SECRET: SecretOption = { option: "--rpc.jwt-secret" };

/** Read-only methods, open to every client, as in op-conductor. */
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
 * The methods of `conductor_` that change the cluster. They are open to clients on this machine and to clients with the secret.
 *
 * @throws {CodedError} jwt/bad-option: the file holds no secret
 */
export function restrictedMethods(
  { jwtSecret: file }: { readonly jwtSecret: string | undefined },
  names: readonly string[],
  clock: Pick<Clock, "unixMs">,
): RestrictedMethods {
  const secret = file === undefined ? undefined : readSecretOf(JWT_SECRET, file);
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
