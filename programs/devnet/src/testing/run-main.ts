import { vi } from "vitest";

/** Runs the `main` of a module in this process. @returns its output and exit code */
export async function runMain(module: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { main } = (await import(module)) as { main: (args: readonly string[], env: NodeJS.ProcessEnv) => Promise<number> };
  const [out, err] = (["stdout", "stderr"] as const).map((stream) => {
    const lines: string[] = [];
    vi.spyOn(process[stream], "write").mockImplementation((text) => lines.push(String(text)) > 0);
    return lines;
  });
  try {
    return { code: await main(args, env), out: out!.join(""), err: err!.join("") };
  } finally {
    vi.restoreAllMocks();
  }
}
