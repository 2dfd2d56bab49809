import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, UserError } from "@rnode/program";
import type { Hex } from "viem";
import type { DevAccount } from "./accounts.ts";
import type { L1Addresses } from "./l1/l1-contracts.ts";
import type { PredeployName } from "./l2/predeploys.ts";
import type { ChainParameters } from "./parameters.ts";

/** In the order in which they hear of a block: the sequencer makes it, the follower gets it from the verifier. */
export const NODE_ROLES = ["sequencer", "verifier", "follower"] as const;
export type NodeRole = (typeof NODE_ROLES)[number];

/** The kinds of L1 that the devnet can run: rengine as a development chain with blobs and a beacon endpoint, or anvil. */
export const LOCAL_L1_KINDS = ["rengine", "anvil"] as const;
/** external: not run by the devnet. */
export type L1Kind = (typeof LOCAL_L1_KINDS)[number] | "external";

/** Endpoints of one execution client and its rollup node. */
export interface NodeEndpoints {
  readonly http: string;
  readonly ws: string;
  /** Engine API; the secret is in `paths` */
  readonly auth: string;
  readonly node: string;
}

/** The content of `devnet.json`: everything that a script needs to use the running devnet. */
export interface DevnetInfo {
  readonly version: 1;
  /** the program that is its L1 */
  readonly l1: L1Kind;
  readonly l1ChainId: number;
  readonly l2ChainId: number;
  readonly endpoints: {
    readonly l1: string;
    /** absent where nothing is known of it */
    readonly l1Ws?: string | undefined;
    /** beacon API; absent: there is none */
    readonly l1Beacon?: string | undefined;
    readonly sequencer: NodeEndpoints;
    readonly verifier: NodeEndpoints;
    /** absent with two nodes, as P2P is */
    readonly follower?: NodeEndpoints | undefined;
    readonly batcher: string;
    readonly proposer: string;
    /** follows whichever sequencer leads; absent where there is one only */
    readonly leader?: string | undefined;
    /** absent where batches are on L1 */
    readonly daServer?: string | undefined;
  };
  /** multiaddresses of the rollup nodes, once they have started */
  readonly p2p?: Readonly<Partial<Record<NodeRole, string>>> | undefined;
  /** funded on both chains */
  readonly accounts: readonly DevAccount[];
  /** indices into `accounts` */
  readonly roles: { readonly owner: 0; readonly proposer: 1; readonly batcher: 2; readonly sequencer: 3; readonly challenger: 4 };
  readonly contracts: { readonly l1: L1Addresses; readonly l2: Readonly<Record<PredeployName, Hex>> };
  readonly genesis: { readonly l1: { readonly hash: Hex; readonly number: number }; readonly l2: Hex; readonly l2TimeSec: number };
  readonly paths: {
    readonly genesis: string;
    readonly rollupConfig: string;
    readonly l1ChainConfig: string;
    readonly sequencerJwt: string;
    readonly verifierJwt: string;
    readonly logs: string;
  };
  readonly parameters: ChainParameters;
}

/** The files in the data directory. */
export function devnetPaths(datadir: string) {
  return {
    info: join(datadir, "devnet.json"),
    lock: join(datadir, "devnet.lock"),
    genesis: join(datadir, "genesis.json"),
    rollupConfig: join(datadir, "rollup.json"),
    dependencySet: join(datadir, "dependency-set.json"),
    l1ChainConfig: join(datadir, "l1-chain-config.json"),
    l1State: join(datadir, "l1-state.json"),
    l1Chain: join(datadir, "l1"),
    batcherKey: join(datadir, "batcher-key.hex"),
    proposerKey: join(datadir, "proposer-key.hex"),
    daStore: join(datadir, "da-store"),
    logs: join(datadir, "logs"),
    sequencerKey: join(datadir, "sequencer", "p2p-sequencer-key.hex"),
    engine: (node: NodeRole) => join(datadir, node, "engine"),
    jwt: (node: NodeRole) => join(datadir, node, "jwt.hex"),
    engineKey: (node: NodeRole) => join(datadir, node, "engine-key.hex"),
    networkKey: (node: NodeRole) => join(datadir, node, "p2p-key.hex"),
    peerstore: (node: NodeRole) => join(datadir, node, "peerstore"),
  } as const;
}

export type DevnetPaths = ReturnType<typeof devnetPaths>;

/** The chain of this data directory, if one was completed there. */
export function readDevnetInfo(paths: DevnetPaths): DevnetInfo | undefined {
  if (!existsSync(paths.info)) return undefined;
  try {
    const info = JSON.parse(readFileSync(paths.info, "utf8")) as DevnetInfo;
    const hasL1 = info.l1 === "external" || existsSync(paths.l1State) || existsSync(paths.l1Chain);
    if (info.version === 1) return hasL1 ? info : undefined;
  } catch {
    // the error below reports it
  }
  throw new UserError(`${paths.info} is not a devnet of this version: start with --fresh, or use another --datadir`);
}

/** For files that only the owner may read. */
export const SECRET_MODE = 0o600;

export function writeSecret(path: string, value: string): void {
  rmSync(path, { force: true }); // a file that is there keeps its mode
  writeFileSync(path, value, { mode: SECRET_MODE });
}

export function writeJson(path: string, value: unknown, indent?: number, mode = 0o644): void {
  const temporary = `${path}.new`;
  writeFileSync(temporary, JSON.stringify(value, undefined, indent), { mode });
  renameSync(temporary, path);
}

/** Removes the files that a devnet writes, by name, so that a mistyped path is not emptied. */
export function clearDatadir(datadir: string, paths: DevnetPaths): void {
  for (const path of [
    paths.info,
    paths.genesis,
    paths.rollupConfig,
    paths.dependencySet,
    paths.l1ChainConfig,
    paths.l1State,
    paths.l1Chain,
    paths.batcherKey,
    paths.proposerKey,
    paths.daStore,
    paths.logs,
  ]) {
    rmSync(path, { recursive: true, force: true });
  }
  for (const folder of [...NODE_ROLES, "sequencers", "set", "chains"])
    rmSync(join(datadir, folder), { recursive: true, force: true });
}

/** The lock of a data directory: which process holds it, and which programs that process started. */
export class DatadirLock {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /**
   * Allows one devnet per data directory.
   * @throws an error that names the processes, if the owner, or a program left behind by an owner that has ended, is still alive
   */
  static acquire(datadir: string, paths: DevnetPaths): DatadirLock {
    try {
      makeFolder(datadir);
    } catch (cause) {
      throw new UserError(`--datadir ${datadir}: ${(cause as Error).message}; name a folder that can be made and written`, {
        cause,
      });
    }
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        writeFileSync(paths.lock, JSON.stringify({ pid: process.pid, programs: [] }), { flag: "wx" });
        return new DatadirLock(paths.lock);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      const { pid, programs } = readLock(paths.lock);
      if (isAlive(pid)) {
        throw new UserError(
          `a devnet is running on ${datadir} (process ${pid}): stop it, or choose another --datadir and --base-port`,
        );
      }
      const left = programs.filter(isAlive);
      if (left.length > 0) {
        throw new UserError(
          `an earlier devnet on ${datadir} was killed and left programs running: end them with kill ${left.join(" ")}`,
        );
      }
      rmSync(paths.lock, { force: true });
    }
    throw new UserError(`cannot lock ${datadir}`);
  }

  /** Records the programs' process ids, in case this process is killed. */
  setPrograms(pids: readonly number[]): void {
    writeJson(this.#path, { pid: process.pid, programs: pids });
  }

  release(): void {
    rmSync(this.#path, { force: true });
  }
}

function readLock(path: string): { pid: number; programs: number[] } {
  try {
    const { pid, programs } = JSON.parse(readFileSync(path, "utf8")) as { pid: number; programs: number[] };
    return { pid: Number(pid), programs: programs.map(Number) };
  } catch {
    return { pid: 0, programs: [] }; // half-written: its owner is gone
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
