import { type HostileRunOptions, type HostileRunResult, hostileRun } from "./hostile-run.ts";

const HELP = `npm run hostile-l1 -- [options]
  --hours=N      simulated hours (default 2000)
  --seed=N       what goes wrong, and when (default 1)
  --da=TYPE      calldata, blobs or auto (default)`;

export type HostileCliOptions = Pick<HostileRunOptions, "hours" | "seed" | "dataAvailabilityType">;

/** @returns a text: an error, or the requested help */
export function parseHostileCli(args: readonly string[]): HostileCliOptions | { readonly text: string; readonly exitCode: number } {
  let options: HostileCliOptions = { hours: 2000, seed: 1, dataAvailabilityType: "auto" };
  for (const arg of args) {
    const number = /^--(hours|seed)=([1-9]\d{0,6})$/.exec(arg);
    const type = (["calldata", "blobs", "auto"] as const).find((each) => arg === `--da=${each}`);
    if (number !== null) options = { ...options, [number[1]!]: Number(number[2]) };
    else if (type !== undefined) options = { ...options, dataAvailabilityType: type };
    else if (arg === "--help") return { text: HELP, exitCode: 0 };
    else return { text: `${arg} is not an option\n${HELP}`, exitCode: 1 };
  }
  return options;
}

/**
 * Faults of the run: a gap, a duplicate, or a cost more than 10 % above that of the same blocks at the same prices without
 * faults.
 */
export function hostileFaults(hostile: HostileRunResult, ideal: HostileRunResult): string[] {
  const { safeBlocks, l2Blocks, repeated, unfit, timedOut, errors, spentWei } = hostile;
  const faults: string[] = [];
  if (safeBlocks !== l2Blocks) faults.push(`a gap: block ${safeBlocks} is safe, of ${l2Blocks}`);
  if (repeated > 0) faults.push(`${repeated} blocks were paid for again`);
  if (unfit > 0) faults.push(`${unfit} blocks were paid for that derivation drops`);
  if (timedOut > 0) faults.push(`${timedOut} channels timed out`);
  if (spentWei * 10n > ideal.spentWei * 11n) faults.push(`${excess(hostile, ideal)} above the ideal`);
  for (const { text, fields } of errors)
    faults.push(
      `an error: ${text} ${Object.entries(fields)
        .map(([key, value]) => `${key}=${String(value)}`)
        .join(" ")}`,
    );
  return faults;
}

const ether = (wei: bigint): string => (Number(wei) / 1e18).toFixed(4);
const excess = (hostile: HostileRunResult, ideal: HostileRunResult): string =>
  `${((Number(hostile.spentWei) / Number(ideal.spentWei) - 1) * 100).toFixed(2)} %`;

/** Runs both, and prints what came of it. @returns the exit code */
export async function printHostileRun(options: HostileCliOptions): Promise<number> {
  const run = (isHostile: boolean): Promise<HostileRunResult> =>
    hostileRun({ ...options, isHostile, onProgress: (hours) => hours % 200 === 0 && console.log(`  ${hours} h`) });
  console.log(`${options.hours} hours, seed ${options.seed}, ${options.dataAvailabilityType}: without faults`);
  const ideal = await run(false);
  console.log("with faults");
  const hostile = await run(true);
  for (const [name, { l1Blocks, l1BlocksSinceAmsterdam, l2Blocks, safeBlocks, transactions, spentWei, spentAtBaseFeeWei }] of [
    ["ideal", ideal],
    ["hostile", hostile],
  ] as const) {
    console.log(
      `${name}: ${l1Blocks} L1 blocks (${l1BlocksSinceAmsterdam} since Amsterdam), ${safeBlocks} of ${l2Blocks} L2 blocks safe, ${transactions} transactions, ${ether(spentWei)} ETH (${ether(spentAtBaseFeeWei)} without raised tips and cancellations)`,
    );
  }
  console.log(
    `faults: ${Object.entries(hostile.faults)
      .map(([what, count]) => `${count} × ${what}`)
      .join(", ")}`,
  );
  console.log(`spent compared with the ideal: ${excess(hostile, ideal)}`);
  const faults = hostileFaults(hostile, ideal);
  for (const fault of faults) console.log(`BROKEN: ${fault}`);
  return faults.length === 0 ? 0 : 1;
}
