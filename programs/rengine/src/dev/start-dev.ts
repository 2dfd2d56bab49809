import { availableParallelism } from "node:os";
import { createSenderCache } from "@rnode/chain";
import { DEV_MNEMONIC } from "@rnode/dev-chain";
import { NAMESPACES, type Profile, unservedNamespaces } from "@rnode/eth-api";
import { LOCAL_ORIGINS, type Pages } from "@rnode/jsonrpc";
import { createKzg } from "@rnode/kzg";
import type { LogFields } from "@rnode/observe";
import { connectionBudget, namingPorts, type Scope } from "@rnode/program";
import type { ClientDependencies } from "../client.ts";
import { type ClientOptions, DEFAULT_NAMESPACES } from "../options.ts";
import { createServerOf } from "../rpc/public-server.ts";
import { profileOf } from "../rpc/read-services.ts";
import { DevWorlds } from "./dev-worlds.ts";

/** A running development chain. */
export interface RunningDevClient {
  readonly port: number;
  readonly status: () => LogFields;
  /** for the user, once */
  readonly banner: string;
}

/**
 * Builds and starts a client that makes its own blocks. There is one process and one listener: JSON-RPC over HTTP and WebSocket, and the
 * beacon API. It stops when the scope closes.
 *
 * @throws {UserError} something that the user must change; CodedError from the parts; errors from listening
 */
export async function startDevClient(
  scope: Scope,
  given: ClientOptions,
  { log, clock, metrics }: ClientDependencies,
): Promise<RunningDevClient> {
  const chosen = optionsForDev(given);
  const { http, dev } = chosen;
  for (const warning of warningsOf(given, profileOf(chosen))) log.warn(warning);
  const kzg = createKzg({ threads: 2 });
  scope.onClose("blob proofs", () => kzg.close());
  const senders = createSenderCache({ workers: Math.max(1, availableParallelism() - 1) });
  scope.onClose("sender recovery", () => senders.close());
  const worlds = new DevWorlds(scope, { options: chosen, log, clock, metrics, kzg, senders });
  const first = await worlds.openFirst();
  const pages: Pages = async (path, query) => await worlds.current.pages?.(path, query);
  const { dialect } = profileOf(chosen);
  const server = createServerOf(chosen, { dialect, log, metrics, maxOpenFiles: connectionBudget(), pages }, worlds.tables);
  const { httpPort } = await scope.use(
    "public RPC server",
    () => namingPorts({ "http.port": http.port }, () => server.listen()),
    () => server.close(),
  );
  worlds.ownPort = httpPort;
  const { blockTimeMs, noMining } = dev;
  first.mining.setMode(
    noMining ? { kind: "manual" } : blockTimeMs === undefined ? { kind: "auto" } : { kind: "interval", ms: blockTimeMs },
  );
  return { port: httpPort!, banner: first.banner(httpPort), status: () => worlds.current.status() };
}

/** Warnings for server options that a development chain ignores. */
function warningsOf({ http, ws }: ClientOptions, profile: Profile): string[] {
  return (["http", "ws"] as const).flatMap((name) => {
    const { enabled, api } = name === "http" ? http : ws;
    if (!enabled || api === DEFAULT_NAMESPACES) return [];
    const unserved = unservedNamespaces(api, profile).map(
      (namespace) => `--${name}.api: face ${profile.name} has no ${namespace}_ methods; --profile=R has`,
    );
    return [`--${name}.api has no effect with --dev: a development chain serves all namespaces`, ...unserved];
  });
}

/**
 * A development chain serves all namespaces. It also serves all web pages, because the keys of the test phrase are public. With another phrase,
 * a page could have the user's own keys sign: then only local pages are served, and only under the names of this machine (DNS rebinding).
 */
function optionsForDev(given: ClientOptions): ClientOptions {
  const { http, ws, dev } = given;
  const isPublic = dev.mnemonic === DEV_MNEMONIC;
  const isDefaultHosts = http.vhosts.length === 1 && http.vhosts[0] === "localhost";
  const origins = http.cors.length > 0 ? http.cors : [isPublic ? "*" : LOCAL_ORIGINS];
  const api = NAMESPACES.filter((name) => name !== "testing" && name !== "admin");
  const open = {
    ...http,
    enabled: true,
    api,
    cors: origins,
    vhosts: isDefaultHosts && isPublic ? ["*"] : http.vhosts,
  };
  return { ...given, http: open, ws: { ...ws, enabled: true, host: http.host, port: http.port, api, origins } };
}
