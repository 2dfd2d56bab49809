import type { ClientVersion, EngineClient } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";

export const ENGINE_KINDS = ["geth", "reth", "erigon"] as const;
export type EngineKind = (typeof ENGINE_KINDS)[number];

/** Codes by which execution clients name themselves. */
const KIND_OF_CODE: Readonly<Record<string, EngineKind>> = { GE: "geth", RH: "reth", EG: "erigon" };

/**
 * Says which execution client there is, and warns when it is of another kind than the operator said. A client that does not say what it is
 * is assumed to be of that kind.
 *
 * @param self how this node names itself
 */
export async function checkEngineKind(
  { enginekind: kind }: { readonly enginekind: EngineKind },
  self: Pick<ClientVersion, "version">,
  { engine, log }: { readonly engine: Pick<EngineClient, "clientVersion">; readonly log: Logger },
): Promise<void> {
  let client: ClientVersion | undefined;
  try {
    client = await engine.clientVersion({ code: "RN", name: "rnode", commit: "0x00000000", ...self });
  } catch (error) {
    if (!isCodedError(error)) throw error;
    log.debug("the execution client does not say what it is", { reason: error.message });
  }
  if (client === undefined) return;
  const { code, name, version } = client;
  const found = KIND_OF_CODE[code];
  log.info("execution client", { name, version, kind: found ?? kind });
  if (found !== undefined && found !== kind) {
    log.warn(
      `--l2.enginekind is ${kind}, but the execution client is ${name}: give --l2.enginekind=${found}; it decides how the node syncs`,
    );
  }
}
