import type { ResolvedOption } from "./option-group.ts";

/** What the old names of options on a command line and in an environment need to be said of them: one line each. */
export interface OldNames {
  readonly warnings: readonly string[];
  readonly faults: readonly string[];
}

interface Written {
  readonly name: string;
  readonly text: string;
}

/** Checks the use of old names. An option under both names must have the same value under both. */
export function checkOldNames(
  resolved: readonly ResolvedOption[],
  given: ReadonlyMap<string, readonly Written[]>,
  env: Readonly<Record<string, string | undefined>>,
): OldNames {
  const warnings: string[] = [];
  const faults: string[] = [];
  for (const option of resolved) {
    const { flag, env: variable, oldEnv, declaration } = option;
    if (declaration.oldFlag === undefined) continue;
    const flags = (given.get(flag) ?? []).map(({ name, text }) => ({ name: `--${name}`, text }));
    const variables = [oldEnv, variable].flatMap((name) => (name === undefined || !env[name] ? [] : [{ name, text: env[name] }]));
    check(option, flags, { old: `--${declaration.oldFlag}`, now: `--${flag}` });
    if (variable !== undefined && oldEnv !== undefined) check(option, variables, { old: oldEnv, now: variable });
  }
  return { warnings, faults };

  function check(option: ResolvedOption, written: readonly Written[], names: { readonly old: string; readonly now: string }): void {
    const old = written.findLast(({ name }) => name === names.old);
    if (old === undefined) return;
    const now = written.findLast(({ name }) => name !== names.old);
    if (now !== undefined && textOf(option, now) !== textOf(option, old)) {
      faults.push(
        `${old.name}=${old.text} and ${now.name}=${now.text} differ: give ${names.now} alone, ${old.name} is its old name`,
      );
    }
    warnings.push(`${old.name} is an old name: use ${names.now}`);
  }
}

/** Two texts of one value are equal. */
function textOf({ declaration: { parse } }: ResolvedOption, { text }: Written): string {
  const value = parse.parse(text);
  return value === undefined ? text : parse.format(value);
}
