import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CodedError } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import type { LogFormat } from "./log-format.ts";
import { type LogLevel, parseLogLevel } from "./log-level.ts";
import { createLogger } from "./logger.ts";

function capture(format: LogFormat, level: LogLevel = "info", pid = false) {
  const lines: string[] = [];
  const log = createLogger({
    level,
    format,
    pid,
    color: false,
    clock: () => 1_700_000_000_123,
    destination: { write: (line) => lines.push(line) },
  });
  return { log, lines };
}

describe("createLogger", () => {
  it("writes logfmt, quoting what needs it", () => {
    const { log, lines } = capture("logfmt");
    log.info("new head", {
      number: 5,
      hash: Uint8Array.of(1, 2),
      gas: 10n ** 20n,
      ok: true,
      why: 'a "b" c',
      none: undefined,
      empty: "",
    });
    expect(lines).toEqual([
      't=2023-11-14T22:13:20.123Z lvl=info msg="new head" number=5 hash=0x0102 gas=100000000000000000000 ok=true why="a \\"b\\" c" empty=""\n',
    ]);
  });

  it("writes json and keeps its own keys", () => {
    const { log, lines } = capture("json");
    log.warn("x", {
      msg: "theirs",
      gas: 10n ** 20n,
      nonce: 3n,
      err: new CodedError("a/b", { n: 1 }, { cause: new Error("deep") }),
    });
    expect(JSON.parse(lines[0]!)).toEqual({
      t: "2023-11-14T22:13:20.123Z",
      lvl: "warn",
      msg: "x",
      msg_: "theirs",
      gas: "100000000000000000000",
      nonce: 3,
      err: { message: "a: b (n 1): deep", code: "a/b" },
    });
  });

  it("says once what an error and its cause both say", () => {
    const { log, lines } = capture("json");
    const cause = new Error("getaddrinfo ENOTFOUND l1");
    log.warn("x", {
      same: new Error(`l1 cannot be reached: ${cause.message}`, { cause }),
      more: new Error("l1 cannot be reached", { cause }),
    });
    expect(JSON.parse(lines[0]!)).toMatchObject({
      same: { message: "l1 cannot be reached: getaddrinfo ENOTFOUND l1" },
      more: { message: "l1 cannot be reached: getaddrinfo ENOTFOUND l1" },
    });
  });

  it("writes terminal lines", () => {
    const { log, lines } = capture("terminal");
    log.error("bad", { a: 1 });
    expect(lines).toEqual([`ERROR [11-14|22:13:20.123] ${"bad".padEnd(40)} a=1\n`]);
  });

  it("keeps a record on one line whatever the values hold", () => {
    for (const format of ["logfmt", "terminal", "json"] as const) {
      const { log, lines } = capture(format);
      log.info("te\nxt", { peer: "evil\nlvl=error \u001b[31m\u2028", "k=\n": 1, nested: { a: ["\n"] } });
      expect(lines[0]!.trimEnd()).not.toMatch(/\p{Cc}/u);
    }
  });

  it("does not fail on circular or deep values", () => {
    const { log, lines } = capture("json");
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    log.info("x", { circular, deep, map: new Map([["a", 1n]]) });
    expect(JSON.parse(lines[0]!)).toMatchObject({ circular: { self: "(nested)" }, map: { a: 1 } });
  });

  it("filters by a level that children share and that can be set", () => {
    const { log, lines } = capture("logfmt", "warn");
    const child = log.child({ part: "p2p" });
    child.info("no");
    log.level = "debug";
    child.debug("yes", { n: 1 });
    child.child({ peer: "x" }).trace("no");
    expect(child.level).toBe("debug");
    expect(child.isEnabled("trace")).toBe(false);
    expect(lines).toEqual(["t=2023-11-14T22:13:20.123Z lvl=debug msg=yes part=p2p n=1\n"]);
  });

  it("loses no line when the process exits at once", () => {
    const folder = mkdtempSync(join(tmpdir(), "observe-"));
    const script = join(folder, "crash.mjs");
    const pinoUrl = import.meta.resolve("pino");
    // The default destination, as createLogger opens it.
    writeFileSync(
      script,
      `import { pino } from ${JSON.stringify(pinoUrl)};
         const out = pino.destination({ dest: 2, sync: true });
         for (let i = 0; i < 5000; i++) out.write("line " + i + "\\n");
         process.kill(process.pid, "SIGKILL");`,
    );
    const { stderr } = spawnSync(process.execPath, [script], { encoding: "utf8" });
    expect(stderr.trim().split("\n")).toHaveLength(5000);
  });
});

describe("the finest level", () => {
  it.each(["logfmt", "terminal", "json", "json-pretty", "text"] as const)("is called detail in the format %s", (format) => {
    const lines: string[] = [];
    const log = createLogger({ level: "trace", format, color: false, destination: { write: (line) => lines.push(line) } });
    log.trace("a step");
    expect(lines.join("")).toMatch(/lvl=detail|DETAIL|"lvl": ?"detail"/);
  });
});

describe("parseLogLevel", () => {
  it.each([
    ["info", "info"],
    ["INFO", "info"],
    ["0", "silent"],
    ["5", "trace"],
    ["detail", "trace"],
    ["eror", "error"],
    ["loud", undefined],
    ["6", undefined],
    ["__proto__", undefined],
    ["constructor", undefined],
  ])("%s is %s", (text, level) => {
    expect(parseLogLevel(text)).toBe(level);
  });
});
