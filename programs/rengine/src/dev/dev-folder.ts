import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DevAccount, devGenesis } from "@rnode/dev-chain";
import { makeFolder, UserError } from "@rnode/program";
import type { ClientOptions } from "../options.ts";

const WEI_PER_ETHER = 10n ** 18n;

/** Where a development chain is kept. */
export interface DevFolder {
  readonly path: string;
  readonly isTemporary: boolean;
  /** the genesis file: the one that was given, or the chain's own */
  readonly genesisPath: string;
  readonly slotSec: number;
  /** Removes a temporary one. */
  remove(): void;
}

/** The facts that the genesis file lacks. */
interface DevFacts {
  readonly slotSec: number;
}

/** @throws {UserError} an option contradicts the chain that is there; errors of the file system */
export function openDevFolder({ chain, dev }: ClientOptions, accounts: readonly DevAccount[], nowSec: number): DevFolder {
  const isTemporary = chain.datadir === "";
  const path = isTemporary ? mkdtempSync(join(tmpdir(), "rengine-dev-")) : chain.datadir;
  makeFolder(path);
  const genesisPath = chain.chain === "" ? join(path, "genesis.json") : chain.chain;
  if (!existsSync(genesisPath) && chain.chain === "") {
    const genesis = devGenesis({
      ...dev,
      timestampSec: dev.timestampSec ?? nowSec,
      accounts: accounts.map(({ address }) => address),
      baseFeePerGas: dev.baseFeeWei,
      balanceWei: BigInt(dev.balanceEther) * WEI_PER_ETHER,
    });
    writeFileSync(genesisPath, JSON.stringify(genesis, undefined, 2));
  }
  return {
    path,
    isTemporary,
    genesisPath,
    slotSec: slotSecOf(join(path, "dev.json"), dev),
    remove: () => isTemporary && rmSync(path, { recursive: true, force: true }),
  };
}

/** The chain keeps the slots that it began with: the times of its blocks are theirs. */
function slotSecOf(factsPath: string, { slotTimeSec, blockTimeMs }: ClientOptions["dev"]): number {
  if (existsSync(factsPath)) {
    const { slotSec } = JSON.parse(readFileSync(factsPath, "utf8")) as DevFacts;
    if (slotTimeSec !== undefined && slotTimeSec !== slotSec)
      throw new UserError(`--dev.slot-time ${slotTimeSec}: the chain in this --datadir has slots of ${slotSec} s, and keeps them`);
    return slotSec;
  }
  const isWholeSeconds = blockTimeMs !== undefined && blockTimeMs >= 1000 && blockTimeMs % 1000 === 0;
  const slotSec = slotTimeSec ?? (isWholeSeconds ? blockTimeMs / 1000 : 1);
  writeFileSync(factsPath, JSON.stringify({ slotSec } satisfies DevFacts));
  return slotSec;
}
