import { type ParseArgsConfig, parseArgs } from "node:util";
export interface Print {
  out(line: string): void;
  err(line: string): void;
  /** replaces the line before it */
  progress(line: string): void;
}

/** @throws {Error} that names the option */
export function naturalNumber(option: string, value: string): number;
export function naturalNumber(option: string, value: string | undefined): number | undefined;
export function naturalNumber(option: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d{1,15}$/.test(value)) throw new Error(`${option} is "${value}", expected a number`);
  return Number(value);
}

type Options = NonNullable<ParseArgsConfig["options"]>;
type ValuesOf<O extends Options> = ReturnType<
  typeof parseArgs<{ options: O & typeof HELP_OPTION; allowPositionals: true }>
>["values"];

const HELP_OPTION = { help: { type: "boolean", short: "h", default: false } } as const;

/** Runs a command whose only argument is a folder. @returns the exit code */
export async function folderCommand<O extends Options>(
  { name, help, options }: { readonly name: string; readonly help: string; readonly options: O },
  args: readonly string[],
  print: Print,
  run: (folder: string, values: ValuesOf<O>) => Promise<void>,
): Promise<number> {
  try {
    const parsed = parseArgs({ args: [...args], allowPositionals: true, options: { ...options, ...HELP_OPTION } });
    const values = parsed.values as ValuesOf<O>;
    if ((values as { readonly help?: boolean }).help === true) {
      print.out(help);
      return 0;
    }
    const [folder, ...more] = parsed.positionals;
    if (folder === undefined || more.length > 0)
      throw new Error(`give one folder: npm run ${name} -- DIR (--help lists the options)`);
    await run(folder, values);
    return 0;
  } catch (error) {
    // Node.js appends advice for programmers to an unknown option.
    print.err(`${name}: ${(error as Error).message.replace(/\. To specify a positional argument.*$/s, " (--help lists all)")}`);
    return 1;
  }
}
