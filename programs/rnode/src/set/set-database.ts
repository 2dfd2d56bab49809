import { renameSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "@rnode/observe";
import { bigintToBytes, encodeRlp, equalBytes, isCodedError, rlpUint, uint64ToBytes } from "@rnode/primitives";
import { Environment, type Table } from "@rnode/storage/environment";
import { StartError } from "../common/start-error.ts";
import { DeniedBlocks } from "./denied-blocks.ts";
import { MessageLog } from "./message-log.ts";
import { VerifiedRounds } from "./verified-rounds.ts";

const TABLES = ["set", "messages", "verified", "denied", "rederive"] as const;
const CHAINS_KEY = Uint8Array.of(0);

/**
 * What a verifier of several chains remembers: the messages of each chain's blocks, what was verified, and the blocks that were found invalid. All of
 * it can be made again from the chains. Verdicts must survive a restart, because a denied block is right for L1 alone.
 */
export class SetDatabase {
  readonly verified: VerifiedRounds;
  readonly denied: DeniedBlocks;
  private readonly environment: Environment;
  private readonly logs: ReadonlyMap<bigint, MessageLog>;
  private readonly rederive: Table;

  private constructor(
    environment: Environment,
    chainIds: readonly bigint[],
    tables: Readonly<Record<(typeof TABLES)[number], Table>>,
  ) {
    this.environment = environment;
    this.logs = new Map(chainIds.map((chainId) => [chainId, new MessageLog(tables.messages, chainId)]));
    this.rederive = tables.rederive;
    this.verified = new VerifiedRounds(tables.verified);
    this.denied = new DeniedBlocks(tables.denied);
  }

  /**
   * Opens the database, and creates it if it is missing. A damaged one is put aside.
   *
   * @param chainIds of the dependency set; ascending
   * @throws {StartError} start/bad-config: a database of other chains
   */
  static open(folder: string, chainIds: readonly bigint[], log: Logger): SetDatabase {
    try {
      return SetDatabase.openChecked(folder, chainIds);
    } catch (error) {
      if (!isCodedError(error, "storage/corrupted")) throw error;
      const file = join(folder, "data.mdb");
      renameSync(file, `${file}.damaged`);
      log.warn("the database of the set is damaged: put aside, and verification begins anew", {
        aside: `${file}.damaged`,
        reason: error.message,
      });
      return SetDatabase.openChecked(folder, chainIds);
    }
  }

  private static openChecked(folder: string, chainIds: readonly bigint[]): SetDatabase {
    const environment = new Environment(folder, { readOnly: false, mapSizeBytes: undefined, sync: "each", syncIntervalMs: 0 });
    try {
      const tables = Object.fromEntries(TABLES.map((name) => [name, environment.openTable(name)!]));
      const known = tables.set!.read(CHAINS_KEY);
      const chains = encodeRlp(chainIds.map(rlpUint));
      if (known !== undefined && !equalBytes(known, chains)) {
        throw new StartError(
          "start/bad-config",
          `${folder} is of another set than chains ${chainIds.join(", ")}: give a folder of its own`,
        );
      }
      if (known === undefined) environment.atomically(() => tables.set!.write(CHAINS_KEY, chains));
      return new SetDatabase(environment, chainIds, tables as Readonly<Record<(typeof TABLES)[number], Table>>);
    } catch (error) {
      environment.abandon();
      throw error;
    }
  }

  /** @param chainId of the set */
  messageLog(chainId: bigint): MessageLog {
    return this.logs.get(chainId)!;
  }

  /** The block of a chain above which all must be derived again, as a verdict lost its ground; `undefined`: none. */
  rederivedAfter(chainId: bigint): number | undefined {
    const row = this.rederive.read(bigintToBytes(chainId, 32));
    return row && Number(new DataView(row.buffer, row.byteOffset).getBigUint64(0));
  }

  setRederivedAfter(chainId: bigint, number: number | undefined): void {
    const key = bigintToBytes(chainId, 32);
    if (number === undefined) this.rederive.delete(key);
    else this.rederive.write(key, uint64ToBytes(number));
  }

  /**
   * One commit for all that `action` writes.
   *
   * @param isFlushed on the disk when it returns; without it, a power cut may damage the database, which then begins anew
   * @throws {CodedError} storage/*
   */
  atomically<T>(action: () => T, { isFlushed }: { readonly isFlushed: boolean }): T {
    try {
      return this.environment.atomically(action, { isFlushed, prepareAgain: () => this.forget() });
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.environment.close();
  }

  /** After a commit that failed, the tables are not what their parts in memory say. */
  private forget(): void {
    for (const table of [this.verified, this.denied, ...this.logs.values()]) table.forget();
  }
}
