import { existsSync } from "node:fs";
import { join } from "node:path";
import { fetchPublished, placesOf, publishedUpgrade } from "@rnode/networks";
import { errorText } from "@rnode/observe";
import { bytesToHex, sha256 } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { upgradeFilesAfter } from "@rnode/protocol";
import { type ChainParameters, l2ForkTimes } from "../parameters.ts";

/** Fetches the files of the forks that a new chain has ahead, unless they are in the folder. @throws {UserError} */
export async function fetchUpgradeFiles(
  folder: string,
  parameters: ChainParameters,
  { signal, log }: { readonly signal: AbortSignal; readonly log: (line: string) => void },
): Promise<void> {
  const genesisTimeSec = 1;
  for (const artifact of upgradeFilesAfter(
    { forkTimes: l2ForkTimes(parameters, genesisTimeSec), lagoonPreliminary: true },
    genesisTimeSec,
  )) {
    const { file, hash } = artifact;
    const path = join(folder, file);
    if (existsSync(path)) continue; // the programs check it
    const published = publishedUpgrade(artifact);
    log(`fetching ${file}, contracts of messages between chains`);
    try {
      await fetchPublished(published, path, undefined, {
        check: (bytes) => (bytesToHex(sha256(bytes)) === hash ? undefined : `its sha256 is not ${hash}`),
        signal,
      });
    } catch (cause) {
      throw new UserError(
        `--chains needs ${file}, which cannot be fetched from ${placesOf(published, undefined).join(" or ")} (${errorText(cause)}): put it into ${folder}, or name a folder that has it with --upgrades-dir`,
        { cause },
      );
    }
  }
}
