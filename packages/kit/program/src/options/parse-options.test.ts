import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatDurationMs, parseDurationMs } from "./duration.ts";
import { describeOptions, helpText, referenceTable } from "./help-text.ts";
import { optionGroup, optionTable, resolveOptions } from "./option-group.ts";
import { parseOptions } from "./parse-options.ts";
import { address, bool, duration, hexKey, httpHeader, httpUrl, listOf, oneOf, path, port, text, uint } from "./parsers.ts";

const sequencer = optionGroup("sequencer", {
  enabled: { parse: bool, default: false, help: "Sequence." },
  l1Confs: { parse: uint, default: 4, unit: "L1 blocks", help: "Distance." },
});
const store = { ...oneOf("disk", "memory"), bare: "disk" };
const main = optionGroup("", {
  l1: { parse: httpUrl, env: "L1_ETH_RPC", required: true, help: "L1." },
  http: { parse: bool, default: true, help: "Serve." },
  httpApi: { parse: listOf(oneOf("eth", "net", "web3")), flag: "http.api", default: ["eth"], help: "Namespaces." },
  rpcPort: { parse: port, flag: "rpc.port", default: 9545, help: "Port." },
  pollMs: { parse: duration, default: 12_000, help: "Interval." },
  dataDir: { parse: path, flag: "datadir", help: "Data." },
  key: { parse: hexKey, secret: true, help: "Key." },
  config: { parse: text, aliases: ["conf"], help: "File." },
  inlineConfig: { parse: text, help: "Text." },
  store: { parse: store, help: "Store." },
  forkTime: { parse: uint, flag: "fork.new", oldFlag: "fork.old", help: "Time." },
});
const table = optionTable({
  program: "example",
  summary: "An example.",
  envPrefix: "EX_",
  groups: { main, sequencer },
  exclusive: [["config", "inline-config"]],
  otherEnv: ["EX_VECTORS"],
});
const L1 = "--l1=http://localhost:8545";

function options(args: string[], env: Record<string, string> = {}) {
  const parsed = parseOptions(table, args, env);
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  return parsed;
}

describe("parseOptions", () => {
  it("gives defaults, and undefined where there is none", () => {
    const { options: values, inEffect } = options([L1]);
    expect(values.sequencer).toEqual({ enabled: false, l1Confs: 4 });
    expect(values.main).toMatchObject({ http: true, httpApi: ["eth"], rpcPort: 9545, pollMs: 12_000, dataDir: undefined });
    expect(inEffect.get("l1")).toMatchObject({ source: "flag", writtenAs: "--l1" });
    expect(inEffect.get("http")).toMatchObject({ source: "default" });
    const typed: number = values.sequencer.l1Confs;
    const maybe: string | undefined = values.main.dataDir;
    expect([typed, maybe]).toEqual([4, undefined]);
  });

  it.each([
    ["--name=value", ["--sequencer.l1-confs=7"], 7],
    ["--name value", ["--sequencer.l1-confs", "7"], 7],
    ["-name=value", ["-sequencer.l1-confs=7"], 7],
    ["-name value", ["-sequencer.l1-confs", "7"], 7],
    ["the last one counts", ["--sequencer.l1-confs=1", "--sequencer.l1-confs=7"], 7],
  ])("reads %s", (_, args, expected) => {
    expect(options([L1, ...args]).options.sequencer.l1Confs).toBe(expected);
  });

  it.each<[string, string[], Record<string, string>, number, string[]]>([
    ["the flag", ["--fork.old=5"], {}, 5, ["--fork.old is an old name: use --fork.new"]],
    ["the variable", [], { EX_FORK_OLD: "5" }, 5, ["EX_FORK_OLD is an old name: use EX_FORK_NEW"]],
    ["the flag before the variable", ["--fork.new=6"], { EX_FORK_OLD: "5" }, 6, ["EX_FORK_OLD is an old name: use EX_FORK_NEW"]],
    ["both with one value", ["--fork.old=5", "--fork.new=5"], {}, 5, ["--fork.old is an old name: use --fork.new"]],
    [
      "both variables with one value",
      [],
      { EX_FORK_OLD: "5", EX_FORK_NEW: "5" },
      5,
      ["EX_FORK_OLD is an old name: use EX_FORK_NEW"],
    ],
    ["the new one", ["--fork.new=5"], {}, 5, []],
  ])("reads an old name with a warning: %s", (_, args, env, value, warnings) => {
    const parsed = options([L1, ...args], env);
    expect(parsed.options.main.forkTime).toBe(value);
    expect(parsed.warnings).toEqual(warnings);
  });

  it.each<[string[], Record<string, string>, string]>([
    [
      ["--fork.old=5", "--fork.new=6"],
      {},
      "--fork.old=5 and --fork.new=6 differ: give --fork.new alone, --fork.old is its old name",
    ],
    [
      ["--fork.new=6", "--fork.old=5"],
      {},
      "--fork.old=5 and --fork.new=6 differ: give --fork.new alone, --fork.old is its old name",
    ],
    [
      [],
      { EX_FORK_OLD: "5", EX_FORK_NEW: "6" },
      "EX_FORK_OLD=5 and EX_FORK_NEW=6 differ: give EX_FORK_NEW alone, EX_FORK_OLD is its old name",
    ],
    [[], { EX_FORK_OLD: "x" }, 'EX_FORK_OLD: "x" is not valid, expected a whole number, 0 or more'],
  ])("refuses another value under an old name: %j %j", (args, env, fault) => {
    expect(parseOptions(table, [L1, ...args], env)).toMatchObject({ kind: "error", faults: [fault] });
  });

  it.each([
    [["--http"], true],
    [["--http=true"], true],
    [["--http=false"], false],
    [["--http=0"], false],
    [["-http=false"], false],
  ])("reads the boolean %j", (args, expected) => {
    expect(options([L1, ...args]).options.main.http).toBe(expected);
  });

  it.each([
    ["at the end", ["--store"], "disk"],
    ["before another flag", ["--store", "--http=false"], "disk"],
    ["in Go's form", ["-store", "-http=false"], "disk"],
    ["with a value after it", ["--store", "memory"], "memory"],
    ["with an equals sign", ["--store=memory"], "memory"],
  ])("reads a flag that needs no value, %s", (_, args, expected) => {
    expect(options([L1, ...args]).options.main.store).toBe(expected);
  });

  it("joins lists that are given several times and skips empty items", () => {
    expect(options([L1, "--http.api=eth,net", "--http.api", "web3,"]).options.main.httpApi).toEqual(["eth", "net", "web3"]);
  });

  it("takes the variable when there is no flag, and treats an empty one as unset", () => {
    const env = { EX_L1_ETH_RPC: "http://a", EX_SEQUENCER_L1_CONFS: "9", EX_HTTP: "false", EX_RPC_PORT: "", EX_POLL: "6m24s" };
    const { options: values, inEffect, warnings } = options(["--sequencer.l1-confs=1"], env);
    expect(values.main).toMatchObject({ l1: "http://a", http: false, rpcPort: 9545, pollMs: 384_000 });
    expect(values.sequencer.l1Confs).toBe(1);
    expect(inEffect.get("http")).toMatchObject({ source: "env", writtenAs: "EX_HTTP" });
    expect(warnings).toEqual([]);
  });

  it("gives a shared variable to the option that can read it, and its owner what neither can", () => {
    const group = optionGroup("l1", {
      beacon: { parse: httpUrl, help: "Node." },
      all: { parse: bool, default: false, sharedEnv: "L1_BEACON", help: "All." },
    });
    const shared = optionTable({ program: "example", summary: "An example.", envPrefix: "EX_", groups: { l1: group } });
    const read = (env: Record<string, string>) => {
      const parsed = parseOptions(shared, [], env);
      return parsed.kind === "options" ? parsed.options.l1 : parsed;
    };
    expect(read({ EX_L1_BEACON: "http://a" })).toEqual({ beacon: "http://a", all: false });
    expect(read({ EX_L1_BEACON: "true" })).toEqual({ beacon: undefined, all: true });
    expect(read({ EX_L1_BEACON: "true", EX_L1_ALL: "false" })).toEqual({ beacon: undefined, all: false });
    expect(read({ EX_L1_BEACON: "x" })).toMatchObject({
      kind: "error",
      faults: [expect.stringMatching(/^EX_L1_BEACON: "x" is not/)],
    });
    expect(referenceTable(shared)).toContain("| `EX_L1_ALL`, `EX_L1_BEACON` |");
  });

  it("warns of unknown prefixed variables with the nearest name", () => {
    const { warnings } = options([L1], {
      EX_SEQUENCER_L1_CONF: "9",
      EX_VECTORS: "/x",
      OTHER: "1",
      EX_TOTALLY_DIFFERENT_THING: "1",
    });
    expect(warnings).toEqual([
      "unknown environment variable EX_SEQUENCER_L1_CONF: did you mean EX_SEQUENCER_L1_CONFS?",
      "unknown environment variable EX_TOTALLY_DIFFERENT_THING",
    ]);
  });

  it.each([
    [[], "--l1 or EX_L1_ETH_RPC is required: expected a URL starting with http://, https://"],
    [["--l1=nonsense"], '--l1: "nonsense" is not valid, expected a URL starting with http://, https://'],
    [["--l1=ftp://x"], '--l1: "ftp://x" is not valid, expected a URL starting with http://, https://'],
    [[L1, "--sequencer.l1-conf=3"], "unknown option --sequencer.l1-conf: did you mean --sequencer.l1-confs? (--help lists all)"],
    [[L1, "--zzzzzzzzzzzz"], "unknown option --zzzzzzzzzzzz (--help lists all)"],
    [[L1, "-z"], "unknown option -z (--help lists all)"],
    [[L1, "--sequencer.l1-confs=-1"], '--sequencer.l1-confs: "-1" is not valid, expected a whole number, 0 or more'],
    [
      [L1, "--sequencer.l1-confs=9007199254740993"],
      '--sequencer.l1-confs: "9007199254740993" is not valid, expected a whole number, 0 or more',
    ],
    [[L1, "--rpc.port=70000"], '--rpc.port: "70000" is not valid, expected a port number from 0 to 65535'],
    [[L1, "--http.api=eth,x"], '--http.api: "x" is not valid, expected one of eth, net, web3'],
    [[L1, "--http.api=x, eth,y"], '--http.api: "x", "y" are not valid, expected one of eth, net, web3'],
    [[L1, "--poll=5"], '--poll: "5" is not valid, expected a duration such as "500ms", "12s" or "6m24s"'],
    [[L1, "--http=maybe"], '--http: "maybe" is not valid, expected true or false'],
    [[L1, "--key=1234"], "--key: the value is not valid, expected a 32-byte key as 64 hex digits"],
    [[L1, "--datadir", "--http"], "--datadir needs a value: expected a path, found the option --http"],
    [[L1, "--datadir"], "--datadir needs a value: expected a path"],
    [[L1, "--http", "false"], 'unexpected argument "false" (a boolean\'s value follows an equals sign: --name=false)'],
    [[L1, "extra"], 'unexpected argument "extra"'],
    [[L1, "--conf=a", "--inline-config=b"], "--conf and --inline-config exclude each other: give one of them"],
  ])("refuses %j in one line", (args, message) => {
    expect(parseOptions(table, args, {})).toMatchObject({ kind: "error", faults: [message] });
  });

  it("tells all faults at once, what is wrong before what is missing", () => {
    const parsed = parseOptions(table, ["--rpc.port=abc", "--zzzzzzzzzzzz", "value", "--poll=5"], {});
    expect(parsed).toMatchObject({
      kind: "error",
      faults: [
        "unknown option --zzzzzzzzzzzz (--help lists all)",
        '--rpc.port: "abc" is not valid, expected a port number from 0 to 65535',
        '--poll: "5" is not valid, expected a duration such as "500ms", "12s" or "6m24s"',
        "--l1 or EX_L1_ETH_RPC is required: expected a URL starting with http://, https://",
      ],
    });
  });

  describe("beside others", () => {
    const remote = optionGroup("remote", {
      enabled: { parse: bool, default: false, help: "Use it." },
      url: { parse: text, help: "Where." },
      port: { parse: port, default: 80, needs: "remote.enabled", help: "Port." },
      names: { parse: listOf(text), default: [], help: "Names." },
      tag: { parse: text, needs: ["remote.url", "remote.names"], help: "Tag." },
      cert: { parse: text, needs: "remote.url", isMistakeAlone: true, help: "Certificate." },
      kind: { parse: oneOf("a", "b"), default: "a", help: "Kind." },
      age: { parse: uint, default: 3, noEffect: "use --remote.level", help: "Age." },
      level: {
        parse: uint,
        needs: "remote.kind=b",
        check: (value: number, other) => (value > Number(other("remote.port")) ? "above the port" : undefined),
        help: "Level.",
      },
    });
    const remoteTable = optionTable({ program: "example", summary: "An example.", envPrefix: "EX_", groups: { remote } });
    const said = (args: string[], env: Record<string, string> = {}): readonly string[] => {
      const parsed = parseOptions(remoteTable, args, env);
      return parsed.kind === "error" ? parsed.faults : parsed.kind === "options" ? parsed.warnings : [];
    };

    it.each<[string[], string[]]>([
      [["--remote.port=1"], ["--remote.port has no effect without --remote.enabled"]],
      [["--remote.port=1", "--remote.enabled=false"], []], // off on purpose
      [["--remote.port=1", "--remote.enabled"], []],
      [["--remote.port=80"], []], // has no effect
      [["--remote.port=1", "--remote.enabled=maybe"], ['--remote.enabled: "maybe" is not valid, expected true or false']],
      [["--remote.tag=x"], ["--remote.tag has no effect without --remote.url or --remote.names"]],
      [["--remote.tag=x", "--remote.names=y"], []],
      [["--remote.cert=x"], ["--remote.cert needs --remote.url: give that as well, or leave --remote.cert out"]],
      [["--remote.age=3"], ["--remote.age has no effect: use --remote.level"]], // its default as well
      [["--remote.age=x"], ['--remote.age: "x" is not valid, expected a whole number, 0 or more']],
      [["--remote.level=1"], ["--remote.level has no effect without --remote.kind=b"]],
      [["--remote.level=1", "--remote.kind=b"], []],
      [["--remote.level=81", "--remote.kind=b"], ["--remote.level: above the port"]],
    ])("%j", (args, expected) => {
      expect(said(args)).toEqual(expected);
    });

    it("names the variable where that was given", () => {
      expect(said([], { EX_REMOTE_PORT: "1" })).toEqual(["EX_REMOTE_PORT has no effect without --remote.enabled"]);
    });

    it("starts where an option has no effect, and does not where that is a mistake", () => {
      expect(parseOptions(remoteTable, ["--remote.port=1"], {})).toMatchObject({ kind: "options" });
      expect(parseOptions(remoteTable, ["--remote.cert=x"], {})).toMatchObject({ kind: "error" });
    });

    it("may only depend on what is in the table", () => {
      const groups = { lonely: optionGroup("", { one: { parse: bool, default: false, needs: "two", help: "One." } }) };
      expect(() => optionTable({ ...remoteTable, groups })).toThrow("--one depends on --two");
    });

    it("is in help and reference", () => {
      expect(helpText(remoteTable)).toContain("Port. [needs --remote.enabled, default 80, EX_REMOTE_PORT]");
      expect(referenceTable(remoteTable)).toContain("Tag. (needs --remote.url or --remote.names)");
    });
  });

  it("names the variable when its value is bad", () => {
    expect(parseOptions(table, [L1], { EX_RPC_PORT: "x" })).toMatchObject({
      kind: "error",
      faults: ['EX_RPC_PORT: "x" is not valid, expected a port number from 0 to 65535'],
    });
  });

  it.each([
    [["--help"], "help"],
    [["-h", "--l1=bad"], "help"],
    [["--version"], "version"],
    [["-v"], "version"],
  ])("%j asks for %s", (args, kind) => {
    expect(parseOptions(table, args, {}).kind).toBe(kind);
  });

  it("takes positionals where the table has them", () => {
    const files = optionTable({ ...table, groups: { sequencer }, exclusive: [], positionals: { name: "FILE…", min: 1, max: 2 } });
    expect(parseOptions(files, ["a", "--sequencer.enabled", "--", "-b"], {})).toMatchObject({
      kind: "options",
      positionals: ["a", "-b"],
    });
    expect(parseOptions(files, [], {})).toMatchObject({ kind: "error", faults: ["missing argument: expected FILE…"] });
    expect(parseOptions(files, ["a", "b", "c"], {})).toMatchObject({ kind: "error", faults: ['unexpected argument "c"'] });
  });
});

describe("secrets", () => {
  const KEY = "5a".repeat(32);
  const fileOf = (content: string): string => {
    const folder = mkdtempSync(join(tmpdir(), "options-secret-"));
    const file = join(folder, "key");
    writeFileSync(file, content, { mode: 0o600 });
    return file;
  };
  const faultsOf = (args: string[], env: Record<string, string> = {}): readonly string[] => {
    const parsed = parseOptions(table, args, env);
    return parsed.kind === "error" ? parsed.faults : [];
  };

  it.each([
    ["a flag", (file: string) => options([L1, `--key-file=${file}`])],
    ["a variable", (file: string) => options([L1], { EX_KEY_FILE: file })],
  ])("come from a file that %s names", (_, read) => {
    const { options: values } = read(fileOf(` 0x${KEY}\n`));
    expect(values.main.key).toEqual(new Uint8Array(32).fill(0x5a));
    expect(values.main).not.toHaveProperty("keyFile");
  });

  it("in arguments, or in files that others may read, are warned about", () => {
    const warningsOf = (args: string[], env: Record<string, string> = {}): readonly string[] =>
      options([L1, ...args], env).warnings;
    const file = fileOf(KEY);
    expect(warningsOf([`--key-file=${file}`])).toEqual([]);
    expect(warningsOf([], { EX_KEY: KEY })).toEqual([]);
    expect(warningsOf([`--key=${KEY}`])).toEqual(["--key: arguments are visible to all users of this machine: use --key-file"]);
    chmodSync(file, 0o640);
    expect(warningsOf([], { EX_KEY_FILE: file })).toEqual([
      `EX_KEY_FILE: others than its owner may read ${file}: give it mode 0600 (chmod 600 ${file})`,
    ]);
  });

  it("that a file should have and has not are told once, and not shown", () => {
    const file = fileOf(`${KEY}00`);
    expect(faultsOf([L1, `--key-file=${file}`])).toEqual([
      "--key-file: the value is not valid, expected a 32-byte key as 64 hex digits",
    ]);
    const [fault, ...others] = faultsOf([L1, `--key-file=${file}x`]);
    expect(fault).toMatch(/^--key-file: ENOENT/);
    expect(others).toEqual([]);
    expect(faultsOf([L1, "--key-file=/dev/zero"])).toEqual(["--key-file: /dev/zero is longer than 4096 bytes"]);
    expect(faultsOf([L1, `--key-file=${file}`, `--key=${KEY}`])).toEqual([
      "--key and --key-file exclude each other: give one of them",
    ]);
  });

  it("that are required can be given by file", () => {
    const strict = optionTable({
      ...table,
      groups: { main: optionGroup("", { key: { parse: hexKey, required: true, secret: true, help: "Key." } }) },
      exclusive: [],
    });
    expect(parseOptions(strict, [`--key-file=${fileOf(KEY)}`], {}).kind).toBe("options");
    expect(parseOptions(strict, [], {})).toMatchObject({
      faults: ["--key or EX_KEY or --key-file is required: expected a 32-byte key as 64 hex digits"],
    });
  });

  it.each([
    ["a key after a space too many", [L1, "--key=", KEY]],
    ["a key at another option", [L1, `--rpc.port=${KEY}`]],
    ["a key one digit short", [L1, `--rpc.port=0x${KEY.slice(1)}`]],
    ["a key as an option", [L1, `--${KEY}`]],
    ["a key with a wrong digit", [L1, `--key=${KEY.slice(1)}g`]],
    ["credentials of a URL", [`--l1=ftp://user:${KEY.slice(0, 20)}@host`]],
    ["a key in the path of a URL", [L1, `--http.api=https://host/v2/${KEY.slice(0, 20)}`]],
  ])("are not shown in errors: %s", (_, args) => {
    const faults = faultsOf(args);
    expect(faults).not.toEqual([]);
    expect(faults.join()).not.toContain(KEY.slice(0, 20));
  });

  it("in URLs are left out of the description", () => {
    const { options: values } = options(["--l1=https://user:word@host:8545/v2/abc?key=1"]);
    expect(describeOptions(table, values).get("l1")).toBe("https://…@host:8545/…");
  });
});

describe("parsers", () => {
  it.each([
    ["6m24s", 384_000],
    ["1h0m0s", 3_600_000],
    ["12s", 12_000],
    ["1.5s", 1500],
    ["500ms", 500],
    ["0", 0],
    ["0s", 0],
    ["-1s", -1000],
  ])("reads the duration %s", (written, ms) => {
    expect(parseDurationMs(written)).toBe(ms);
    expect(parseDurationMs(formatDurationMs(ms))).toBe(ms);
  });

  it.each(["", "5", "s", "1x", "1s2", "1 s", "--1s", "1e3s"])("refuses the duration %j", (written) => {
    expect(parseDurationMs(written)).toBeUndefined();
  });

  it("formats what it parses", () => {
    expect([384_000, 3_600_000, 500, 0, 12_000].map(formatDurationMs)).toEqual(["6m24s", "1h", "500ms", "0s", "12s"]);
  });

  it("reads addresses, keys and headers strictly", () => {
    const hex = "0x52908400098527886E0F7030069857D2E4169EE7";
    expect(address.format(address.parse(hex)!)).toBe(hex.toLowerCase());
    expect(address.parse("0x12")).toBeUndefined();
    expect(hexKey.parse("11".repeat(32))).toHaveLength(32);
    expect(httpHeader.parse("X-Key: a b")).toEqual({ name: "X-Key", value: "a b" });
    expect(httpHeader.parse("X-Key a")).toBeUndefined();
    expect(httpHeader.parse("X-Key:a")).toBeUndefined();
    expect(httpHeader.parse("X: a\nEvil: b")).toBeUndefined();
  });
});

describe("help and reference", () => {
  it("has every option with its variable and default", () => {
    const help = helpText(table);
    const reference = referenceTable(table);
    for (const { flag, env } of resolveOptions(table)) {
      expect(help).toContain(`--${flag}`);
      expect(reference).toMatch(new RegExp(`\\| \`--${flag}\` +\\| \`${env}\` +\\|`));
    }
    expect(help).toContain("Distance. [L1 blocks, default 4, EX_SEQUENCER_L1_CONFS]");
    expect(help).toContain("--store[=<disk|memory>]");
    expect(reference).toMatch(/\| `--poll` +\| `EX_POLL` +\| duration +\| 12s +\| Interval\. +\|/);
    expect(
      new Set(
        reference
          .trimEnd()
          .split("\n")
          .map((row) => row.length),
      ).size,
    ).toBe(1);
  });

  it("hides secrets when it describes the values", () => {
    const { options: values } = options([L1, `--key=${"22".repeat(32)}`]);
    const described = describeOptions(table, values);
    expect(described.get("key")).toBe("(secret)");
    expect(described.get("poll")).toBe("12s");
    expect(described.has("datadir")).toBe(false);
  });
});

describe("options of programs that people come from", () => {
  const program = {
    name: "other",
    envPrefix: "OTHER_",
    noEffect: [{ text: "nothing to tune", flags: ["tune", "fast"], switches: ["fast"] }],
    instead: [{ text: "use --rpc.port", flags: ["port", "old"] }],
    variables: { LONG_NAME: "old", API: "http.api" },
  };
  const other = optionTable({ ...table, foreign: [program] });
  const read = (args: string[], env: Record<string, string> = {}): readonly string[] => {
    const parsed = parseOptions(other, [L1, ...args], env);
    return parsed.kind === "options" ? parsed.warnings : parsed.kind === "error" ? parsed.faults : [];
  };

  it.each([
    [["--tune=3"], ["--tune, an option of other, has no effect: nothing to tune"]],
    [["--tune", "3"], ["--tune, an option of other, has no effect: nothing to tune"]],
    [["--fast", "--http"], ["--fast, an option of other, has no effect: nothing to tune"]],
    [["--port=1"], ["unknown option --port, an option of other: use --rpc.port"]],
    [["--port", "1", "--tune=3"], ["unknown option --port, an option of other: use --rpc.port"]],
    [["--zzzz=1"], ["unknown option --zzzz (--help lists all)"]],
  ])("%j", (args, lines) => {
    expect(read(args)).toEqual(lines);
  });

  it.each([
    ["OTHER_L1_ETH_RPC", "set EX_L1_ETH_RPC"],
    ["OTHER_RPC_PORT", "set EX_RPC_PORT"],
    ["OTHER_API", "set EX_HTTP_API"],
    ["OTHER_TUNE", "it has no effect: nothing to tune"],
    ["OTHER_PORT", "use --rpc.port"],
    ["OTHER_LONG_NAME", "use --rpc.port"],
    ["OTHER_X", "example does not have it; example --help lists its own"],
    ["OTHER_CONSTRUCTOR", "example does not have it; example --help lists its own"],
  ])("%s is not read, and said to be of the other program", (name, advice) => {
    expect(read([], { [name]: "1" })).toEqual([`${name} is a variable of other: ${advice}`]);
    expect(read([], { [name]: "" })).toEqual([]);
  });

  it("give way to an option of ours with the same name", () => {
    const ours = optionTable({ ...other, foreign: [{ ...program, instead: [{ text: "no", flags: ["rpc.port"] }] }] });
    expect(parseOptions(ours, [L1, "--rpc.port=7"], {})).toMatchObject({ kind: "options", options: { main: { rpcPort: 7 } } });
  });
});
