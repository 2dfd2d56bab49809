import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { parseOptions } from "@rnode/program";
import { type DependencySet, forksUpTo } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { rnodeOptions } from "../options.ts";
import { testConfig } from "../testing/fake-chain.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { interopSetup } from "./interop-files.ts";

const folder = mkdtempSync(join(tmpdir(), "rnode-interop-"));
const path = (name: string): string => join(folder, name);
const fileOf = (name: string, content: string): string => {
  writeFileSync(path(name), content);
  return path(name);
};

const config = testConfig("jovian", { forkTimes: forksUpTo("interop") });
const interop = (args: string[], rollup = config, log = silentLogger, named?: DependencySet) => {
  const parsed = parseOptions(rnodeOptions, ["--l2=http://127.0.0.1:1", "--network=op-sepolia", ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  return interopSetup(parsed.options.interopServer, rollup, named, log);
};
const setup = (...args: Parameters<typeof interop>) => interop(...args).supervisor;
const ADDRESS = "--interop.rpc.addr=127.0.0.1";

describe("a supervisor's server", () => {
  it("is only there with --interop.rpc.addr, on 9645 unless --interop.rpc.port says otherwise", () => {
    expect(setup([])).toBeUndefined();
    const secret = `--interop.jwt-secret=${path("a.txt")}`;
    expect(setup([ADDRESS, secret])).toMatchObject({ host: "127.0.0.1", port: 9645 });
    expect(setup([ADDRESS, secret, "--interop.rpc.port=1234"])).toMatchObject({ port: 1234 });
  });

  it("is refused where no messages will ever be executed", () => {
    expect(() => setup([ADDRESS], testConfig())).toThrow("schedules no interop (interop_time)");
  });

  it("is missed where messages are executed", () => {
    const { log, logs } = recordingLogger();
    setup([], config, log);
    expect(logs.map(({ text }) => text)).toEqual([expect.stringContaining("nobody supervises this node")]);
    setup([], testConfig(), log);
    setup([`--interop.dependency-set=${fileOf("alone.json", '{"dependencies":{"901":{}}}')}`], config, log);
    expect(logs.filter(({ level }) => level === "warn")).toHaveLength(1);
  });
});

describe("--interop.jwt-secret", () => {
  const secretOf = (file: string) => setup([ADDRESS, `--interop.jwt-secret=${file}`])!.jwtSecret;

  it.each([
    ["missing", undefined],
    ["empty", "\n"],
  ])("makes a secret for its owner only where the file is %s, and keeps it", (name, content) => {
    const file = content === undefined ? path(`${name}.txt`) : fileOf(`${name}.txt`, content);
    const secret = secretOf(file);
    expect(secret).toHaveLength(32);
    expect(readFileSync(file, "utf8")).toMatch(/^0x[0-9a-f]{64}$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(secretOf(file)).toEqual(secret);
  });

  it("refuses a file that holds something else", () => {
    const file = fileOf("short.txt", "0x1234");
    expect(() => secretOf(file)).toThrow(`--interop.jwt-secret: invalid jwt secret in path ${file}, not 32 hex-formatted bytes`);
    expect(readFileSync(file, "utf8")).toBe("0x1234");
  });
});

describe("--interop.dependency-set", () => {
  it("replaces that of a named network, which has no other chains to be supervised for", () => {
    const { log, logs } = recordingLogger();
    const named = { chainIds: [901n], expiryWindowSec: 604_800 };
    expect(interop([], config, log, named).dependencySet).toBe(named);
    expect(logs).toEqual([]);
    const own = `--interop.dependency-set=${fileOf("own.json", '{"dependencies":{"902":{},"901":{}}}')}`;
    expect(interop([own], config, log, named).dependencySet?.chainIds).toEqual([901n, 902n]);
  });

  const set = (content: string) => setup([`--interop.dependency-set=${fileOf("set.json", content)}`]);

  it("is read at the start, and said in the log", () => {
    const { log, logs } = recordingLogger();
    setup([`--interop.dependency-set=${fileOf("two.json", '{"dependencies":{"902":{},"901":{}}}')}`], config, log);
    expect(logs[0]).toMatchObject({ fields: { chains: "901,902", expiryWindowSec: 604_800 } });
  });

  it.each([
    ["{", "not JSON"],
    ['{"dependencies":{"902":{}}}', "dependencies lacks chain 901, which is this one; it has 902"],
    ['{"dependencies":{"901":{"activationTime":-1}}}', "dependencies.901.activationTime: expected an integer"],
  ])("%s stops the start: %s", (content, words) => {
    expect(() => set(content)).toThrow(words);
    expect(() => set(content)).toThrow(`--interop.dependency-set ${path("set.json")}: `);
  });

  it("must be there", () => {
    expect(() => setup([`--interop.dependency-set=${path("nothing.json")}`])).toThrow("ENOENT");
  });
});
