/** A leaked timer or socket does not keep the process alive for longer than this. */
const EXIT_LIMIT_MS = 1_000;

/** The whole of a program's script: the process ends with the code that `main` returns, once standard output has been flushed. */
export async function exitWith(main: (args: string[], env: NodeJS.ProcessEnv) => Promise<number>): Promise<void> {
  // `rengine … | head`: a reader that closes the pipe early is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  process.exitCode = await main(process.argv.slice(2), process.env);
  setTimeout(() => process.exit(), EXIT_LIMIT_MS).unref();
}
