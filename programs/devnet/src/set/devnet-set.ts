import { join } from "node:path";
import { type Scope, UserError } from "@rnode/program";
import { DEFAULT_OPTIONS, type Devnet, type DevnetOptions, STOP_TIMEOUT_MS, startDevnet } from "../devnet.ts";
import { devnetPaths, readDevnetInfo } from "../files.ts";
import { type ChainParameters, DEFAULT_PARAMETERS, forkDelaysOfSet } from "../parameters.ts";
import { freeBasePort, isFree, PORT_USES } from "../ports.ts";
import type { ShownProgram } from "../processes/devnet-dashboard.ts";
import type { Program } from "../processes/program.ts";
import { Supervisor } from "../processes/supervisor.ts";
import { fundPortal, fundRoles, setL1BlockTime } from "./local-l1.ts";
import { Relayer } from "./relayer.ts";
import { Rendezvous } from "./rendezvous.ts";
import { type Member, setProgram } from "./set-program.ts";
import { fetchUpgradeFiles } from "./upgrade-files.ts";

/** Each chain has one sequencer, and no follower. */
export interface DevnetSetOptions extends Omit<DevnetOptions, "set" | "nodes" | "sequencers" | "isLight" | "syncmode"> {
  readonly chains: number;
  /** folder with the files of the forks that bring messages; `undefined`: they are fetched */
  readonly upgradesDir: string | undefined;
}

export interface DevnetSet {
  /** the first one runs L1 */
  readonly chains: readonly Devnet[];
  /** `rnode set` */
  readonly program: Program;
  /** its JSON-RPC */
  readonly url: string;
  readonly relayer: Relayer;
  /** address of its page; `undefined`: none */
  readonly dashboard: string | undefined;
  /** rejects when a program cannot be kept running; never resolves */
  readonly failure: Promise<never>;
}

/** The first chain's accounts; the other chains have their own ones with a role. */
const ACCOUNTS = 10;
const ROLES = 5;
/** While contracts are deployed, in seconds. */
const QUICK_BLOCK_TIME_SEC = 1;
const MAX_PORT = 65_535;

/**
 * Starts the chains of a set on one L1, `rnode set`, which verifies them, and a relayer of their messages. The first chain runs L1, and has the data
 * directory, in which the others have folders. Closing the scope stops everything.
 *
 * @throws {UserError} as `startDevnet`
 */
export async function startDevnetSet(
  scope: Scope,
  given: Partial<DevnetSetOptions> & Pick<DevnetSetOptions, "chains" | "datadir">,
): Promise<DevnetSet> {
  const options: DevnetSetOptions = { ...DEFAULT_OPTIONS, upgradesDir: undefined, ...given };
  const { chains: count, datadir, log } = options;
  const { basePort, port, feedPort } = await portsOf(options);
  const all = parametersOf(options);
  const upgradesDir = options.upgradesDir ?? join(datadir, "upgrades");
  await fetchUpgradeFiles(upgradesDir, { ...DEFAULT_PARAMETERS, ...all[0] }, { signal: scope.signal, log });

  const url = `http://127.0.0.1:${port}`;
  const members: Member[] = [];
  const program = setProgram(members, { datadir, port, url, upgradesDir, feedPort: options.dashboard ? feedPort : undefined });
  const meeting = new Rendezvous<Member>(count, async (joined) => {
    members.push(...joined.toSorted((a, b) => a.info.l2ChainId - b.info.l2ChainId));
    const { info } = members[0]!;
    if (info.l1 !== "external") {
      await setL1BlockTime(info, info.parameters.l1BlockTimeSec);
      for (const member of members) await fundPortal(info, member.info);
    }
    scope.signal.throwIfAborted();
    scope.onClose(program.spec.name, () => program.stop(), { closeLimitMs: STOP_TIMEOUT_MS + 5_000 });
    await program.start();
    log(`${program.spec.name} is up`);
  });
  const setShown: ShownProgram = { id: "set", kind: "rnode-set", feedPort: options.dashboard ? feedPort : undefined, program };
  const others: ShownProgram[] = [];
  const startChain = (index: number, more: Partial<DevnetOptions> = {}): Promise<Devnet> =>
    startDevnet(scope, {
      ...options,
      datadir: folderOf(datadir, all[index]!),
      basePort: basePort + index * PORT_USES.length,
      parameters: all[index]!,
      nodes: 2,
      set: {
        program,
        url,
        upgradesDir,
        firstRole: firstRoleOf(index),
        further: index === 0 ? () => [setShown, ...others] : undefined,
        join: (info, args) => meeting.join({ info, args }),
      },
      ...more,
    });
  const firstChain = startChain(0);
  const { info } = await Promise.race([meeting.first, firstChain.then(() => meeting.first)]);
  if (info.l1 !== "external") await setL1BlockTime(info, QUICK_BLOCK_TIME_SEC);
  const further = all.slice(1).map(async (parameters, at) => {
    if (info.l1 !== "external") await fundRoles(info, firstRoleOf(at + 1));
    const { l1, l1Beacon } = info.endpoints;
    const { l1BlockTimeSec } = info.parameters;
    const chain = await startChain(at + 1, { l1, l1Beacon, parameters: { ...parameters, l1BlockTimeSec } });
    others.push(...chain.shown);
    return chain;
  });
  const chains = await Promise.all([firstChain, ...further]);

  const supervisor = new Supervisor({ isOn: options.supervise, log });
  supervisor.watch(program);
  scope.onClose("supervisor of the set", () => supervisor.close());
  const relayer = new Relayer(
    chains.map((chain) => chain.info),
    log,
  );
  scope.onClose("relayer", () => relayer.close());
  const failure = Promise.race([supervisor.failure, ...chains.map((chain) => chain.failure)]);
  failure.catch(() => {}); // it need not be awaited
  return { chains, program, url, relayer, dashboard: chains[0]!.dashboard, failure };
}

/** The chains' ports follow each other; the last two are `rnode set`'s. @throws {UserError} */
async function portsOf({ basePort: given, chains }: DevnetSetOptions) {
  const count = chains * PORT_USES.length + 2;
  const basePort = given === 0 ? await freeBasePort(count) : given;
  const [port, feedPort] = [basePort + count - 2, basePort + count - 1];
  if (feedPort > MAX_PORT)
    throw new UserError(`--base-port ${given}: ${chains} chains need ${count} ports, give ${MAX_PORT - count + 1} or less`);
  if (!(await isFree(port)))
    throw new UserError(`port ${port} (rnode set) is in use: choose others with --base-port, 0 takes free ones`);
  return { basePort, port, feedPort };
}

/** Of each chain. What depends on the time of blocks is computed as for the chains that exist. */
function parametersOf({ chains, parameters, datadir, fresh }: DevnetSetOptions): Partial<ChainParameters>[] {
  const existing = fresh ? undefined : readDevnetInfo(devnetPaths(datadir))?.parameters;
  const { l2ChainId: firstId, l2BlockTimeSec } = { ...DEFAULT_PARAMETERS, ...existing, ...withoutUndefined(parameters) };
  const ids = Array.from({ length: chains }, (_, index) => firstId + index);
  return ids.map((l2ChainId, index) => ({
    ...withoutUndefined(parameters),
    l2ChainId,
    otherChains: ids.filter((id) => id !== l2ChainId),
    forkDelaysSec: forkDelaysOfSet(l2BlockTimeSec),
    ...(index > 0 && { batchInbox: `0xff${String(l2ChainId).padStart(38, "0")}` as const }),
  }));
}

const withoutUndefined = (parameters: DevnetOptions["parameters"]): Partial<ChainParameters> =>
  Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined));

const firstRoleOf = (index: number): number => (index === 0 ? 0 : ACCOUNTS + (index - 1) * ROLES);

const folderOf = (datadir: string, { l2ChainId, batchInbox }: Partial<ChainParameters>): string =>
  batchInbox === undefined ? datadir : join(datadir, "chains", String(l2ChainId));

/** What the devnet of one chain can have beside. */
type OfOneChain = Pick<DevnetOptions, "sequencers" | "isLight" | "syncmode">;

/** Why a set cannot have these options; `undefined`: it can. */
export function conflictOfSet({ sequencers, isLight, syncmode }: OfOneChain): string | undefined {
  const option =
    sequencers > 1
      ? "--sequencers"
      : isLight
        ? "--light"
        : syncmode === "execution-layer"
          ? "--syncmode=execution-layer"
          : undefined;
  return option && `each chain of several has one sequencer and one verifier, so leave out ${option}`;
}

/** The number of chains to start: that of the data directory, if it has any. @throws {UserError} */
export function chainsOf({
  chains: given,
  datadir,
  fresh,
  ...others
}: Pick<DevnetOptions, "datadir" | "fresh"> & OfOneChain & { readonly chains?: number | undefined }): number {
  const info = fresh ? undefined : readDevnetInfo(devnetPaths(datadir));
  const has = info && 1 + (info.parameters.otherChains?.length ?? 0);
  if (has !== undefined && given !== undefined && has !== given) {
    throw new UserError(`the devnet in ${datadir} has --chains ${has}, not ${given}: start with --fresh for a new one`);
  }
  const chains = given ?? has ?? 1;
  const conflict = chains > 1 ? conflictOfSet(others) : undefined;
  if (conflict !== undefined) throw new UserError(`the devnet in ${datadir} has ${chains} chains: ${conflict}`);
  return chains;
}
