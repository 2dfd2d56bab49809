import { describe, expect, it } from "vitest";
import { optionTable } from "./option-group.ts";
import { parseOptions } from "./parse-options.ts";
import { logOptions } from "./standard-options.ts";

const table = optionTable({ program: "example", summary: "An example.", envPrefix: "EX_", groups: { log: logOptions } });

describe("the log level", () => {
  it.each([
    ["warn", "warn"],
    ["DEBUG", "debug"],
    ["detail", "trace"],
    ["0", "silent"],
    ["loud", undefined],
  ])("--log.level=%s is %s", (written, level) => {
    const parsed = parseOptions(table, [`--log.level=${written}`], {});
    expect(parsed.kind === "options" ? parsed.options.log.level : undefined).toBe(level);
  });
});
