import { helpText, parseOptions } from "@rnode/options";
import { type Devnet, startDevnet } from "./devnet.ts";
import { type DevnetCliOptions, devnetOptionTable } from "./options.ts";
import { formatStatus } from "./status.ts";

const TTY_STATUS_INTERVAL_MS = 1_000;

/** @returns the exit code */
export async function main(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const parsed = parseOptions(devnetOptionTable, args, env);
  switch (parsed.kind) {
    case "help":
      console.log(helpText(devnetOptionTable));
      return 0;
    case "version":
      console.log("devnet 0.1.0");
      return 0;
    case "error":
      console.error(parsed.message);
      return 1;
    case "options":
      for (const warning of parsed.warnings) console.error(warning);
      return await run(parsed.options.devnet);
  }
}

async function run(options: DevnetCliOptions): Promise<number> {
  const screen = new Screen(process.stdout.isTTY === true);
  const startedMs = Date.now();
  const aborting = new AbortController();
  const stopRequest = untilStopRequested(options.exitAfterMs, screen);
  void stopRequest.then(() => aborting.abort());
  let devnet: Devnet;
  try {
    devnet = await startDevnet({
      datadir: options.datadir,
      basePort: options.basePort,
      fresh: options.fresh,
      supervise: options.supervise,
      sequencerL1Confs: options.sequencerL1Confs,
      parameters: {
        ...(options.l1BlockTime === undefined ? {} : { l1BlockTimeSec: options.l1BlockTime }),
        ...(options.blockTime === undefined ? {} : { l2BlockTimeSec: options.blockTime }),
      },
      log: (line) => screen.line(line),
      signal: aborting.signal,
    });
  } catch (error) {
    screen.line(`devnet: ${messageOf(error)}`);
    return 1;
  }
  const killNow = (): void => devnet.killNow();
  process.once("exit", killNow);
  printSummary(devnet, options.datadir, Date.now() - startedMs, screen);

  const statusLoop = new StatusLoop(devnet, screen, screen.isTty ? TTY_STATUS_INTERVAL_MS : options.statusIntervalMs);
  let exitCode = 0;
  try {
    await Promise.race([stopRequest, devnet.failure]);
  } catch (error) {
    screen.line(`devnet: ${messageOf(error)}`);
    exitCode = 1;
  }
  statusLoop.stop();
  screen.line("stopping");
  await devnet.stop();
  process.removeListener("exit", killNow);
  screen.line("stopped: the next start goes on from here");
  return exitCode;
}

/** The first Ctrl-C (or termination) asks for a clean stop, the second ends at once. */
function untilStopRequested(exitAfterMs: number | undefined, screen: Screen): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        if (asked) {
          screen.line("ended without waiting");
          process.exit(130);
        }
        asked = true;
        resolve();
      });
    }
    if (exitAfterMs !== undefined) setTimeout(resolve, exitAfterMs);
  });
}

function printSummary({ info, isNew, programs }: Devnet, datadir: string, tookMs: number, screen: Screen): void {
  const { endpoints, contracts } = info;
  const rows = (entries: readonly (readonly [string, string])[]): string => {
    const width = Math.max(...entries.map(([name]) => name.length));
    return entries.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join("\n");
  };
  const names = new Map(Object.entries(info.roles).map(([role, index]) => [index as number, role]));
  screen.line(
    [
      "",
      `${isNew ? "A new chain is" : "The chain goes on and is"} up after ${(tookMs / 1000).toFixed(1)} s.`,
      "",
      "Endpoints",
      rows([
        [`L1 (chain ${info.l1ChainId})`, `${endpoints.l1}  ${endpoints.l1Ws}`],
        [`L2 sequencer (chain ${info.l2ChainId})`, `${endpoints.sequencer.http}  ${endpoints.sequencer.ws}`],
        ["L2 verifier", `${endpoints.verifier.http}  ${endpoints.verifier.ws}`],
        ["rnode of the sequencer", endpoints.sequencer.node],
        ["rnode of the verifier", endpoints.verifier.node],
        ["rbatcher", endpoints.batcher],
      ]),
      "",
      "Accounts, funded on both chains (keys are public: never use them elsewhere)",
      rows(info.accounts.map(({ address, privateKey }, index) => [`${address}  ${privateKey}`, names.get(index) ?? ""])),
      "",
      "Contracts on L1",
      rows(Object.entries(contracts.l1)),
      "",
      "Contracts on L2",
      rows(Object.entries(contracts.l2)),
      "",
      `Logs and devnet.json (all of the above) are in ${datadir}; programs: ${Object.values(programs)
        .map(({ spec, pid }) => `${spec.name} ${pid ?? "-"}`)
        .join(", ")}`,
      "Ctrl-C stops everything.",
      "",
    ].join("\n"),
  );
}

/** Lines that scroll, and below them one line that changes. */
class Screen {
  readonly isTty: boolean;
  #status = "";

  constructor(isTty: boolean) {
    this.isTty = isTty;
  }

  line(text: string): void {
    if (this.#status === "") {
      process.stdout.write(`${text}\n`);
      return;
    }
    process.stdout.write(`\r\x1b[K${text}\n${this.#status}`);
  }

  status(text: string): void {
    if (!this.isTty) {
      process.stdout.write(`${text}\n`);
      return;
    }
    const width = process.stdout.columns ?? 80;
    this.#status = text.length >= width ? `${text.slice(0, width - 2)}…` : text;
    process.stdout.write(`\r\x1b[K${this.#status}`);
  }

  endStatus(): void {
    if (this.#status !== "") process.stdout.write("\n");
    this.#status = "";
  }
}

class StatusLoop {
  readonly #devnet: Devnet;
  readonly #screen: Screen;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(devnet: Devnet, screen: Screen, intervalMs: number) {
    this.#devnet = devnet;
    this.#screen = screen;
    this.#intervalMs = intervalMs;
    void this.#tick();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#screen.endStatus();
  }

  async #tick(): Promise<void> {
    const status = await this.#devnet.status();
    if (this.#stopped) return;
    this.#screen.status(formatStatus(status, Date.now() / 1000));
    this.#timer = setTimeout(() => void this.#tick(), this.#intervalMs);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
