import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { resolveOptions } from "../options/option-group.ts";
import {
  checkVariables,
  type ForeignCheck,
  findOutcome,
  migrationTable,
  needlessAnswers,
  valueByVariable,
} from "./foreign-check.ts";

const MARK = "<!-- The rest of this page is made from foreign-options.ts: vitest --update writes it. -->\n";

/**
 * Gives our program each option and each variable of the foreign one, and compares the page's table with what comes of it.
 *
 * @param page its path; what follows the mark in it is made here
 * @param older flags of earlier releases that are answered as well
 */
export function describeMigration(check: ForeignCheck, page: URL, older: readonly string[] = []): void {
  const { program, facts } = check;
  describe(`coming from ${program.name}`, () => {
    it.each(facts.map((fact) => [fact.flag, fact] as const))(
      "--%s has the same meaning, no effect, or something to use instead",
      (_, fact) => {
        const found = findOutcome(check, fact);
        if (found.kind === "same") expect(valueByVariable(check, fact, found.ours) ?? found.value).toBe(found.value);
        const { said, expected } = checkVariables(check, fact);
        expect(said).toEqual(expected);
      },
    );

    it("needs no further answer", () => {
      expect(needlessAnswers(check, older)).toEqual([]);
    });

    it("names no option that we do not have", () => {
      const ours = new Set(resolveOptions(check.table).map(({ flag }) => flag));
      const named = [...program.noEffect, ...program.instead].flatMap(({ text }) =>
        [...text.matchAll(/--([a-z][a-z\d.-]*[a-z\d])(?:=\S+)?(?! of |\S* of )/g)].map(([, flag]) => flag!),
      );
      expect(named.filter((flag) => !ours.has(flag))).toEqual([]);
    });

    it("says of a variable that nobody knows that it is not read", () => {
      const [line] = checkVariables(check, { ...facts[0]!, env: ["NO_SUCH_THING"] }).said;
      expect(line).toBe(
        `${program.envPrefix}NO_SUCH_THING is a variable of ${program.name}: ${check.table.program} does not have it; ` +
          `${check.table.program} --help lists its own`,
      );
    });

    it(`is a page with every option (vitest --update writes it)`, async () => {
      const [head] = readFileSync(page, "utf8").split(MARK);
      await expect(`${head}${MARK}\n${migrationTable(check)}`).toMatchFileSnapshot(page.pathname);
    });
  });
}
