import { existsSync } from "node:fs";
import { isUrl } from "@rnode/networks";
import { silentLogger } from "@rnode/observe";
import { systemClock } from "@rnode/program";
import { checkSignerFiles } from "@rnode/signer";
import { AdminStateFile } from "../common/admin-state.ts";
import { checkEngineSecret, readConductorSecret } from "../engine/engine-secret.ts";
import type { RnodeOptions } from "../options.ts";
import { readNetworkKey } from "../p2p/p2p-setup.ts";
import { assertAltDa, assertConfirmations, loadDerivationConfig } from "./rollup-setup.ts";

/** Checks of options, files and tables at the start. A registry at a URL is not contacted. */
export const configChecks: readonly ((options: RnodeOptions) => unknown)[] = [
  checkChain,
  ({ conductor: { enabled, jwtSecret } }) => enabled && jwtSecret !== undefined && readConductorSecret(jwtSecret),
  ({ p2p: { disable, privPath } }) => !disable && existsSync(privPath) && readNetworkKey(privPath, silentLogger),
  ({ sequencer: { enabled }, rpc: { adminState } }) => enabled && new AdminStateFile(adminState).load(),
  ({ p2p: { disable }, signer }) => !disable && checkSignerFiles(signer),
];

async function checkChain(options: RnodeOptions): Promise<void> {
  if (options.files.registry !== undefined && isUrl(options.files.registry)) return;
  const { rollup } = await loadDerivationConfig(options, { log: silentLogger, clock: systemClock });
  assertAltDa(options, rollup);
  assertConfirmations(options, rollup, Math.floor(systemClock.unixMs() / 1000));
  checkEngineSecret(options, rollup.l2ChainId);
}
