import type { OptionInEffect, OptionTable } from "./option-group.ts";

/**
 * Errors in combinations of options, one line each: options that exclude each other, and options without their prerequisite. An
 * option with its default value has no effect here.
 *
 * @param inEffect by flag; invalid and missing options are not in it, and options that depend on them are not reported
 * @returns warnings: options without effect, with which the program starts
 */
export function combinationFaults(
  table: OptionTable,
  inEffect: ReadonlyMap<string, OptionInEffect>,
): { readonly faults: readonly string[]; readonly warnings: readonly string[] } {
  const given = [...inEffect.values()].filter(({ source }) => source !== "default");
  const asking = given.filter(asks);
  const faults: string[] = [];
  const warnings: string[] = [];
  for (const { option, writtenAs } of given) {
    const { noEffect } = option.declaration;
    if (noEffect !== undefined) warnings.push(`${writtenAs} has no effect: ${noEffect}`);
  }
  for (const exclusive of table.exclusive ?? []) {
    const both = asking.filter(({ option }) => exclusive.includes(option.flag));
    if (both.length > 1) {
      faults.push(`${both.map(({ writtenAs }) => writtenAs).join(" and ")} exclude each other: give one of them`);
    }
  }
  const other = (flag: string): unknown => inEffect.get(flag)?.value;
  for (const { option, value, writtenAs } of asking) {
    const { declaration } = option;
    const { needs } = declaration;
    const wanted = needs === undefined ? [] : [needs].flat();
    if (wanted.length > 0 && !wanted.some((need) => isMet(need, inEffect))) {
      const others = wanted.map((need) => `--${need}`).join(" or ");
      if (declaration.isMistakeAlone) faults.push(`${writtenAs} needs ${others}: give that as well, or leave ${writtenAs} out`);
      else warnings.push(`${writtenAs} has no effect without ${others}`);
    } else {
      const fault = declaration.check?.(value, other);
      if (fault !== undefined) faults.push(`${writtenAs}: ${fault}`);
    }
  }
  return { faults, warnings };
}

function asks({ option: { declaration }, value }: OptionInEffect): boolean {
  return declaration.default === undefined || declaration.parse.format(value) !== declaration.parse.format(declaration.default);
}

/** An option that was switched off explicitly excludes nothing. @param need `flag`, or `flag=value` */
export function isMet(need: string, inEffect: ReadonlyMap<string, OptionInEffect>): boolean {
  const [flag = "", wanted] = need.split("=", 2);
  const found = inEffect.get(flag);
  if (found === undefined) return true; // it is there, but wrong
  const { value, option, source } = found;
  if (wanted !== undefined) return value !== undefined && option.declaration.parse.format(value) === wanted;
  if (value === false) return source !== "default";
  if (value === undefined || value === "") return false;
  return !Array.isArray(value) || value.length > 0;
}
