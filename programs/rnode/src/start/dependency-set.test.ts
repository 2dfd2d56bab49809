import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { parseOptions } from "@rnode/program";
import { type DependencySet, forksUpTo } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { rnodeOptions } from "../options.ts";
import { testConfig } from "../testing/fake-chain.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { chooseDependencySet } from "./dependency-set.ts";

const folder = mkdtempSync(join(tmpdir(), "rnode-interop-"));
const path = (name: string): string => join(folder, name);
const fileOf = (name: string, content: string): string => {
  writeFileSync(path(name), content);
  return path(name);
};

const config = testConfig("jovian", { forkTimes: forksUpTo("lagoon") });
const choose = (args: string[], rollup = config, log = silentLogger, named?: DependencySet) => {
  const parsed = parseOptions(rnodeOptions, ["--l2=http://127.0.0.1:1", "--network=op-sepolia", ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  return chooseDependencySet(parsed.options.interopCluster, rollup, named, log, parsed.options.l2.followSource);
};

const SET = '{"dependencies":{"902":{},"901":{}}}';

describe("--interop.dependency-set", () => {
  it("replaces that of a named network, which has no other chains", () => {
    const { log, logs } = recordingLogger();
    const named = { chainIds: [901n], expiryWindowSec: 604_800 };
    expect(choose([], config, log, named)).toBe(named);
    expect(logs).toEqual([]);
    const own = `--interop.dependency-set=${fileOf("own.json", SET)}`;
    expect(choose([own], config, log, named)?.chainIds).toEqual([901n, 902n]);
  });

  it("is read at the start, and said in the log", () => {
    const { log, logs } = recordingLogger();
    choose([`--interop.dependency-set=${fileOf("two.json", SET)}`], config, log);
    expect(logs[0]).toMatchObject({ fields: { chains: "901,902", expiryWindowSec: 604_800 } });
  });

  it("is that of the network with the chain's id, if a configuration file describes it", () => {
    expect(choose([], { ...config, l2ChainId: 10n })).toEqual({ chainIds: [10n, 130n], expiryWindowSec: 604_800 });
    const own = `--interop.dependency-set=${fileOf("ten.json", '{"dependencies":{"10":{}}}')}`;
    expect(choose([own], { ...config, l2ChainId: 10n })?.chainIds).toEqual([10n]);
  });

  it("is required if messages are scheduled and no network has the chain's id", () => {
    expect(choose([], testConfig("jovian"))).toBeUndefined();
    const scheduled = testConfig("jovian", { forkTimes: { ...forksUpTo("karst"), lagoon: 4_000_000_000 } });
    expect(() => choose([], scheduled)).toThrow(
      /^--interop\.dependency-set is required: lagoon_time \(--override\.lagoon\) is 4000000000, .*no chain 901\. .*\{"dependencies": \{"901": \{\}\}\}$/,
    );
    expect(choose([`--interop.dependency-set=${fileOf("own.json", SET)}`], scheduled)?.chainIds).toEqual([901n, 902n]);
  });

  it("warns where messages of other chains are executed, and only there", () => {
    const { log, logs } = recordingLogger();
    const warnings = (): number => logs.filter(({ level, text }) => level === "warn" && text.includes("are not checked")).length;
    choose([], testConfig(), log);
    choose([`--interop.dependency-set=${fileOf("alone.json", '{"dependencies":{"901":{}}}')}`], config, log);
    expect(warnings()).toBe(0);
    const both = `--interop.dependency-set=${fileOf("both.json", SET)}`;
    choose([both, "--l2.follow.source=http://localhost:1"], config, log);
    expect(warnings()).toBe(0);
    choose([both], config, log);
    expect(warnings()).toBe(1);
  });

  it.each([
    ["{", "not JSON"],
    ['{"dependencies":{"902":{}}}', "dependencies lacks chain 901, which is this one; it has 902"],
    ['{"dependencies":{"901":{"activationTime":-1}}}', "dependencies.901.activationTime: expected an integer"],
  ])("%s stops the start: %s", (content, words) => {
    const start = () => choose([`--interop.dependency-set=${fileOf("set.json", content)}`]);
    expect(start).toThrow(words);
    expect(start).toThrow(`--interop.dependency-set ${path("set.json")}: `);
  });

  it("must be there", () => {
    expect(() => choose([`--interop.dependency-set=${path("nothing.json")}`])).toThrow("ENOENT");
  });
});
