// Bin files load this module before the program itself, so it imports next to nothing.
import { hideFiles } from "../process/file-mode.ts";
import { isOutOfFiles, openFilesAdvice, openFilesFault } from "../process/open-files.ts";

/** A leaked timer or socket does not keep the process alive for longer than this. */
const EXIT_LIMIT_MS = 1_000;

/** A program, from its arguments to its exit code. */
export type Main = (args: string[], env: NodeJS.ProcessEnv) => number | Promise<number>;

/**
 * The whole of a program's script: the process ends with the code that `main` returns, once standard output has been flushed.
 *
 * @param name of the command, for errors that happen before there is a program: `rnode`
 * @param load imports the program; what keeps it from being loaded is said in one line
 */
export async function launch(name: string, load: () => Promise<{ readonly main: Main }>): Promise<void> {
  // `rengine … | head`: a reader that closes the pipe early is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  hideFiles();
  process.exitCode = await runMain(name, load);
  setTimeout(() => process.exit(), EXIT_LIMIT_MS).unref();
}

async function runMain(name: string, load: () => Promise<{ readonly main: Main }>): Promise<number> {
  const fault = openFilesFault();
  if (fault !== undefined) return fail(name, fault);
  try {
    const { main } = await load();
    return await main(process.argv.slice(2), process.env);
  } catch (error) {
    // Programs load some modules only when they are needed.
    const reason = describeLoadFailure(error);
    if (reason === undefined) throw error;
    return fail(name, `cannot be loaded: ${reason}`);
  }
}

function fail(name: string, reason: string): number {
  process.stderr.write(`${name}: ${reason.replace(/\s*\n\s*/g, " ")}\n`);
  return 1;
}

/** Why modules could not be loaded; undefined for what can only be a bug. */
export function describeLoadFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (isOutOfFiles(error)) return `${error.message}: ${openFilesAdvice()}`;
  // Node.js also reports a package as missing if it could not open its manifest; hence the order.
  if ("code" in error && error.code === "ERR_MODULE_NOT_FOUND") return `${error.message}: ${INCOMPLETE}`;
  const platform = /^No native build was found for (.+)$/m.exec(error.message)?.[1];
  return platform === undefined ? undefined : `a package has no prebuilt part for this platform (${platform.trim()}): ${COMPILE}`;
}

const COMPILE =
  "install Python 3 and a C++ compiler, then run `npm rebuild` in the folder of the installation; prebuilt are Linux with glibc, macOS and Windows " +
  "on x64 and arm64";
const INCOMPLETE = "the installation is not complete: build it (npm run build) or install it again";
