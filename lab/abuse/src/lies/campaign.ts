import { type Devnet, rpcCall, type SyncStatus } from "@rnode/devnet";
import { createRandom } from "@rnode/primitives/testing";
import { pause } from "../pause.ts";
import { type Deceit, deceitsAbout } from "./deceit.ts";
import type { LyingProxy } from "./proxy.ts";
import { SafeChainWatch } from "./safe-chain-watch.ts";
import type { VictimName } from "./victim.ts";

/** Who lies to the victim. */
export interface Liar {
  readonly name: string;
  readonly proxy: LyingProxy;
}

export interface LieRun {
  readonly liar: string;
  readonly deceit: string;
  /** the node was started while it was lied to */
  readonly atStart: boolean;
  /** answers that were not honest */
  readonly lies: number;
  /**
   * from the end of the false answers until the node's safe head was that of an honest node; `undefined`: not within the limit
   */
  readonly recoverySec: number | undefined;
  readonly faults: readonly string[];
}

export interface CampaignOptions {
  readonly victim: VictimName;
  readonly seed: number;
  readonly totalMs: number;
  /** only lies whose names contain it */
  readonly only: string;
  readonly lieMs: number;
  /** bound of the recovery */
  readonly recoveryMs: number;
  readonly signal: AbortSignal;
  readonly onRun: (run: LieRun) => void;
}

/** One false answer in this many is sent while the node starts, and so is every one about data that is requested only then. */
const AT_START_ONE_IN = 6;
const ASKED_WITHIN_MS = 10_000;
/** After a start, regular requests appear within this time. */
const ASKED_AGAIN_MS = 4_000;
/** A false answer sent this often can stop. */
const ENOUGH_LIES = 6;
/** Maximum wait for a recovery, beyond its limit, so that the next one starts with a healthy node. */
const MAX_RECOVERY_MS = 60_000;
/** A node that is started while it is lied to may end; it is then started again once honesty has returned. */
const START_UNDER_LIES_MS = 8_000;

/** Sends false answers to the victim, one kind after the other, drawn by the seed from all that are possible for its requests. */
export async function runCampaign(devnet: Devnet, liars: readonly Liar[], options: CampaignOptions): Promise<void> {
  const random = createRandom(options.seed);
  const watch = new SafeChainWatch(devnet, options.victim);
  const endMs = performance.now() + options.totalMs;
  try {
    while (performance.now() < endMs && !options.signal.aborted) {
      const drawn = draw(liars, options.only, random);
      if (!drawn) {
        await pause(500, options.signal);
        continue;
      }
      const isAsked = drawn.liar.proxy.isAsked(drawn.method, ASKED_WITHIN_MS);
      const run = await tell(devnet, watch, drawn, !isAsked || random(AT_START_ONE_IN) === 0, options);
      options.onRun(run);
      if (run.atStart) {
        for (const { proxy } of liars) proxy.forgetAsked();
        await pause(ASKED_AGAIN_MS, options.signal);
      }
    }
  } finally {
    watch.close();
  }
}

interface Drawn {
  readonly liar: Liar;
  readonly method: string;
  readonly deceit: Deceit;
}

/**
 * Draws the endpoint first, then the method, the kind, and last the item of a list, so that frequent ones do not displace the
 * rest.
 */
function draw(liars: readonly Liar[], only: string, random: (limit: number) => number): Drawn | undefined {
  for (let attempt = 0; attempt < 100; attempt++) {
    const liar = liars[random(liars.length)]!;
    const methods = [...liar.proxy.answers];
    const [method, answers] = methods[random(Math.max(1, methods.length))] ?? [];
    if (method === undefined || answers === undefined) continue;
    const sample = answers[random(answers.length)]!;
    const deceits = deceitsAbout(method, sample.result).filter(({ name }) => name.includes(only));
    const alike = [...alikeIn(deceits).values()];
    const some = alike[random(Math.max(1, alike.length))] ?? [];
    const deceit = some[random(Math.max(1, some.length))];
    if (deceit) return { liar, method, deceit };
  }
  return undefined;
}

/** False answers that differ only in the list item. */
function alikeIn(deceits: readonly Deceit[]): Map<string, Deceit[]> {
  const groups = new Map<string, Deceit[]>();
  for (const deceit of deceits) {
    const key = deceit.name.replaceAll(/\[\d+\]|items? \d+(?: and \d+)?/g, "…");
    groups.set(key, [...(groups.get(key) ?? []), deceit]);
  }
  return groups;
}

async function tell(
  devnet: Devnet,
  watch: SafeChainWatch,
  { liar, deceit }: Drawn,
  atStart: boolean,
  { victim, lieMs, recoveryMs, signal }: CampaignOptions,
): Promise<LieRun> {
  const node = devnet.programs[`${victim}Node`];
  const { proxy } = liar;
  const faults: string[] = [];
  const pidBefore = node.pid;
  const liesBefore = proxy.lies;
  proxy.deceit = deceit;
  if (atStart) {
    await node.kill("SIGKILL");
    await Promise.race([node.start().catch(() => {}), pause(START_UNDER_LIES_MS, signal)]);
  }
  const lieEndMs = performance.now() + lieMs;
  while (performance.now() < lieEndMs && proxy.lies - liesBefore < ENOUGH_LIES && !signal.aborted) await pause(100, signal);
  proxy.becomeHonest();
  const honestMs = performance.now();
  const hasDied = !atStart && node.pid !== pidBefore;
  if (hasDied) faults.push(`the node ended: ${lastLine(node.logTail(40))}`);
  if (!node.isRunning) await node.start().catch((error: unknown) => faults.push(`the node does not start again: ${String(error)}`));
  const recoverySec = await untilRecovered(devnet, victim, honestMs, signal);
  // the time that a start takes is not the lie's doing
  const boundMs = atStart || hasDied ? 2 * recoveryMs : recoveryMs;
  if (recoverySec === undefined) faults.push(`not recovered within ${MAX_RECOVERY_MS / 1000} s of honesty`);
  else if (recoverySec * 1000 > boundMs)
    faults.push(`recovered ${recoverySec.toFixed(1)} s after honesty, bound ${boundMs / 1000}`);
  faults.push(...watch.takeFaults());
  return { liar: liar.name, deceit: deceit.name, atStart, lies: proxy.lies - liesBefore, recoverySec, faults };
}

/**
 * Until the victim's safe head reaches the head that the other node, which gets honest answers, had at the end of the false
 * answers; the sequencer must also have built a block since then.
 */
async function untilRecovered(
  { info: { endpoints } }: Devnet,
  victim: VictimName,
  honestMs: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  const other = victim === "verifier" ? "sequencer" : "verifier";
  const safeGoal = (await rpcCall<SyncStatus>(endpoints[other].node, "rnode_syncStatus")).safe_l2.number;
  const unsafeGoal = victim === "sequencer" ? 1 + Number(await rpcCall<string>(endpoints.sequencer.http, "eth_blockNumber")) : 0;
  while (performance.now() - honestMs < MAX_RECOVERY_MS && !signal.aborted) {
    try {
      const { safe_l2, unsafe_l2 } = await rpcCall<SyncStatus>(endpoints[victim].node, "rnode_syncStatus", [], 1000);
      if (safe_l2.number >= safeGoal && unsafe_l2.number >= unsafeGoal) return (performance.now() - honestMs) / 1000;
    } catch {
      // it starts
    }
    await pause(100, signal);
  }
  return undefined;
}

const lastLine = (lines: readonly string[]): string =>
  lines.findLast((line) => /error|fatal|critical/i.test(line)) ?? lines.at(-1) ?? "no log";
