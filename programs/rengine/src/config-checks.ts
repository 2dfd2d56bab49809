import { existsSync } from "node:fs";
import { assertSecretFolder, namingSecretOption, readJwtSecret, type SecretOption } from "@rnode/jsonrpc";
import { isUrl } from "@rnode/networks";
import { nodeKeyAt } from "./network/node-key.ts";
import type { ClientOptions } from "./options.ts";
import { loadChainSpec } from "./setup/chain-spec.ts";

export const JWT_SECRET: SecretOption = { option: "--authrpc.jwtsecret" };

/** Checks of options, files and tables at the start. Nothing is fetched. */
export const configChecks: readonly ((options: ClientOptions) => unknown)[] = [checkChain, checkJwtSecret, checkNodeKey];

async function checkChain({ dev, chain: { chain, genesis, registry } }: ClientOptions): Promise<void> {
  if (dev.enabled || [chain, genesis, registry].some((place) => place !== undefined && isUrl(place))) return;
  await loadChainSpec({ chain, genesis, registry });
}

/** A missing file is made at the start, in a folder that is there. */
function checkJwtSecret({ authrpc: { jwtsecret } }: ClientOptions): void {
  if (jwtsecret === undefined) return;
  namingSecretOption(JWT_SECRET, () => (existsSync(jwtsecret) ? readJwtSecret(jwtsecret) : assertSecretFolder(jwtsecret)));
}

function checkNodeKey({ network: { nodekey, maxPeers } }: ClientOptions): void {
  if (nodekey !== undefined && maxPeers > 0 && existsSync(nodekey)) nodeKeyAt(nodekey);
}
