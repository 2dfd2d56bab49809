import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, describe, expect, it } from "vitest";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const SCRIPT = join(PACKAGE, "test-programs/small-program.mjs");

beforeAll(() => {
  const { status, stdout } = spawnSync(join(PACKAGE, "../../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (status !== 0) throw new Error(`packages/kit/program cannot be built:\n${stdout}`);
});

const running: SmallProgram[] = [];
afterEach(() => {
  for (const program of running.splice(0)) program.kill();
});

/** The program as a separate process, with real signals and exit codes. */
class SmallProgram {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown[]>;
  out = "";
  err = "";

  constructor(...args: string[]) {
    this.#child = spawn(process.execPath, [SCRIPT, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: {},
    });
    this.#child.stdout!.on("data", (chunk: Buffer) => {
      this.out += chunk.toString();
    });
    this.#child.stderr!.on("data", (chunk: Buffer) => {
      this.err += chunk.toString();
    });
    this.#exited = once(this.#child, "close");
    running.push(this);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  kill(): void {
    if (this.#child.exitCode === null) this.#child.kill("SIGKILL");
  }

  async said(text: string): Promise<void> {
    while (!`${this.out}${this.err}`.includes(text)) {
      if (this.#child.exitCode !== null) throw new Error(`ended without saying "${text}":\n${this.out}${this.err}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** its standard output and its exit code */
  async end(): Promise<{ code: unknown; parts: string[] }> {
    const [code] = await this.#exited;
    return { code, parts: this.out.trimEnd().split("\n") };
  }

  /** the log lines of one level, without time and level */
  logged(level: string): string[] {
    return [...this.err.matchAll(/^t=\S+ lvl=(\S+) (.*)$/gm)].filter((line) => line[1] === level).map((line) => line[2]!);
  }
}

const STARTED = ["first starts", "second starts"];
const CLOSED = ["second closes", "first closes"];

describe("a program", () => {
  it("starts in order, says its status, and closes in reverse when it is told to stop", async () => {
    const program = new SmallProgram();
    await program.said("turns=1");
    program.signal("SIGTERM");
    expect(await program.end()).toEqual({ code: 0, parts: [...STARTED, ...CLOSED] });
    expect(program.logged("info")).toEqual([
      expect.stringMatching(/^msg="small starts" version=v1.2.3 node=\S+ pid=\d+$/),
      "msg=status turns=0",
      "msg=status turns=1",
      "msg=stopping asked=SIGTERM",
      "msg=stopped",
    ]);
  });

  it("can tell itself to stop, and ends although something was left open", async () => {
    expect(await new SmallProgram("--behaviour=leak").end()).toEqual({ code: 0, parts: [...STARTED, ...CLOSED] });
  });

  it("can start again with everything closed before, and is stopped as usual then", async () => {
    const program = new SmallProgram("--behaviour=restarts", "--metrics.enabled", "--metrics.port=0");
    await program.said("turns=1");
    program.signal("SIGTERM");
    expect(await program.end()).toEqual({ code: 0, parts: [...STARTED, ...CLOSED, ...STARTED, ...CLOSED] });
    expect(program.logged("info")).toContain('msg="starting again" asked="the test"');
  });

  it("whose start throws closes what has started, and says why in one line", async () => {
    const program = new SmallProgram("--behaviour=start-refuses");
    expect(await program.end()).toEqual({ code: 1, parts: [...STARTED, "first closes"] });
    expect(program.logged("error")).toEqual(['msg="small cannot start" error="--behaviour: refused in two lines"']);
    expect(program.err.match(/refused/g)).toHaveLength(1);
  });

  it("says so in the format of its log, and also when that is silent", async () => {
    const json = new SmallProgram("--behaviour=start-refuses", "--log.format=json");
    await json.end();
    const [, failure] = json.err.split("\n");
    expect(JSON.parse(failure!)).toMatchObject({
      lvl: "error",
      msg: "small cannot start",
      error: "--behaviour: refused in two lines",
    });
    const silent = new SmallProgram("--behaviour=start-refuses", "--log.level=silent");
    await silent.end();
    expect(silent.err).toBe("small: --behaviour: refused in two lines\n");
  });

  it("tells a fault of its own, in one line with the stack", async () => {
    const program = new SmallProgram("--behaviour=start-breaks");
    expect(await program.end()).toEqual({ code: 1, parts: [...STARTED, "first closes"] });
    expect(program.logged("error")).toEqual([
      expect.stringMatching(
        /^msg="small cannot start: a fault of the program" error="nothing is not a function" stack="TypeError: .*small-program/,
      ),
    ]);
  });

  it("stops while it starts: what was under way is closed, the rest is not started", async () => {
    const program = new SmallProgram("--behaviour=start-waits");
    await program.said("waiting");
    program.signal("SIGTERM");
    expect(await program.end()).toEqual({ code: 0, parts: [...STARTED, "waiting", ...CLOSED] });
  });

  it("does not wait for ever for a start, nor for a close, and closes the rest", { tags: "long" }, async () => {
    const start = new SmallProgram("--behaviour=start-hangs");
    const close = new SmallProgram("--behaviour=close-hangs");
    await start.said("waiting");
    start.signal("SIGINT");
    expect(await close.end()).toEqual({ code: 1, parts: [...STARTED, ...CLOSED] });
    expect(close.logged("error")).toEqual(['msg="a part does not close: going on without waiting" part=second limitMs=300']);
    expect(await start.end()).toEqual({ code: 1, parts: [...STARTED, "waiting", "first closes"] });
  });

  it("closes the rest when a close throws", async () => {
    const program = new SmallProgram("--behaviour=close-throws");
    expect(await program.end()).toEqual({ code: 1, parts: [...STARTED, ...CLOSED] });
    expect(program.logged("error")).toEqual(['msg="a part did not close as it should" part=second error=stuck']);
  });

  it("ends at once with a second signal, but not with the same request by two names", async () => {
    const program = new SmallProgram("--behaviour=start-hangs");
    await program.said("waiting");
    program.signal("SIGINT");
    program.signal("SIGTERM");
    await expect.poll(() => program.logged("info").join()).toContain("stopping");
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(program.logged("warn")).toEqual([]);
    program.signal("SIGINT");
    expect(await program.end()).toEqual({ code: 1, parts: [...STARTED, "waiting"] });
    expect(program.logged("warn")).toEqual(['msg="ended without waiting" signal=SIGINT']);
  });

  it("that cannot go on closes, and says why", async () => {
    const program = new SmallProgram("--behaviour=ends-badly");
    expect(await program.end()).toEqual({ code: 1, parts: [...STARTED, ...CLOSED] });
    expect(program.logged("error")).toEqual(['msg="small cannot go on" error="the chain is gone"']);
  });

  it("closes after an error that nobody caught; another one while closing is said, too", async () => {
    const program = new SmallProgram("--behaviour=rejection");
    expect(await program.end()).toEqual({ code: 1, parts: [...STARTED, ...CLOSED] });
    expect(program.logged("error")).toEqual([
      expect.stringMatching(/^msg="small cannot go on: a fault of the program" error="nobody cares" stack="Error: nobody cares\\n/),
    ]);
    const closing = new SmallProgram("--behaviour=rejection-while-closing");
    expect(await closing.end()).toEqual({ code: 1, parts: [...STARTED, ...CLOSED] });
    expect(closing.logged("error")).toEqual([expect.stringMatching(/^msg="error while closing: a fault of the program"/)]);
  });

  it("serves metrics and health, and names the option of a taken port", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    const args = ["--metrics.enabled", "--metrics.addr=127.0.0.1"];
    const refused = new SmallProgram(...args, `--metrics.port=${port}`);
    expect(await refused.end()).toMatchObject({ code: 1, parts: [""] });
    expect(refused.logged("error")).toEqual([
      `msg="small cannot start" error="--metrics.port: port ${port} is in use on 127.0.0.1: stop the program that listens there, or choose another port"`,
    ]);
    await new Promise((resolve) => other.close(resolve));
    const program = new SmallProgram(...args, "--metrics.port=0");
    await program.said("turns=0");
    const url = `http://127.0.0.1:${/metrics listen" addr=127.0.0.1 port=(\d+)/.exec(program.err)![1]}`;
    expect(await (await fetch(`${url}/metrics`)).text()).toContain("small_parts_total 2");
    const health = await fetch(`${url}/healthz`);
    expect([health.status, await health.json()]).toEqual([200, { version: "v1.2.3" }]);
    program.signal("SIGHUP");
    expect(await program.end()).toMatchObject({ code: 0 });
  });

  it("with --shutdown.delay= is not ready after a stop signal, and serves until the delay is over", async () => {
    const metrics = ["--metrics.enabled", "--metrics.addr=127.0.0.1", "--metrics.port=0"];
    const draining = new SmallProgram("--shutdown.delay=10m", ...metrics);
    const brief = new SmallProgram("--shutdown.delay=50ms", "--behaviour=leak");
    await draining.said("turns=0");
    const url = `http://127.0.0.1:${/metrics listen" addr=127.0.0.1 port=(\d+)/.exec(draining.err)![1]}`;
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    draining.signal("SIGTERM");
    await draining.said("draining");
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([503, { version: "v1.2.3", reasons: ["small is stopping"] }]);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(draining.out).not.toContain("closes");
    expect(await brief.end()).toEqual({ code: 0, parts: [...STARTED, ...CLOSED] });
  });

  it("prints help and version, and what is wrong with its options", async () => {
    const [help, version, wrong] = [new SmallProgram("--help"), new SmallProgram("--version"), new SmallProgram("--behaviour=odd")];
    expect(await help.end()).toMatchObject({ code: 0, parts: expect.arrayContaining(["A small program."]) });
    expect(await version.end()).toEqual({ code: 0, parts: ["small v1.2.3"] });
    expect(await wrong.end()).toMatchObject({ code: 1 });
    expect(wrong.err).toMatch(/^small: --behaviour: "odd" is not valid, expected one of [^\n]*\n$/);
  });

  it("says what is wrong with its options in the format that machines are to read", async () => {
    const json = new SmallProgram("--behaviour=odd", "--log.format=json");
    const logfmt = new SmallProgram("--behaviour=odd", "--log.format=logfmt");
    await Promise.all([json.end(), logfmt.end()]);
    expect(JSON.parse(json.err)).toMatchObject({
      lvl: "error",
      msg: "small cannot start",
      error: expect.stringMatching(/^--behaviour: "odd" is not valid/),
    });
    expect(logfmt.logged("error")).toEqual([expect.stringMatching(/^msg="small cannot start" error="--behaviour: /)]);
  });

  it("prints the options in effect and where they come from, without secrets", async () => {
    const printed = new SmallProgram("config", "print", "--metrics.enabled", "--key=abc", "--behaviour=leak");
    const { code, parts } = await printed.end();
    expect(code).toBe(0);
    const rows = new Map(parts.map((line) => [line.split(" ", 1)[0], line.split(/ +/).slice(1)] as const));
    expect(rows.get("--behaviour")).toEqual(["leak", "--behaviour"]);
    expect(rows.get("--metrics.port")).toEqual(["7300", "default"]);
    expect(rows.get("--pprof.path")).toEqual(["(none)", "default"]);
    expect(rows.get("--key")).toEqual(["(secret)", "--key"]);
    const other = new SmallProgram("config", "show");
    expect(await other.end()).toMatchObject({ code: 1 });
    expect(other.err).toBe('small: config: expected "small config print", followed by the options to look at\n');
    const help = new SmallProgram("config", "--help");
    expect(await help.end()).toMatchObject({
      code: 0,
      parts: expect.arrayContaining(["Usage: small config print [options of small]"]),
    });
  });

  it("that halts closes its parts, and goes on serving metrics until it is told to stop", async () => {
    const program = new SmallProgram("--behaviour=halts", "--metrics.enabled", "--metrics.addr=127.0.0.1", "--metrics.port=0");
    await program.said("first closes");
    await program.said("halted");
    const url = `http://127.0.0.1:${/metrics listen" addr=127.0.0.1 port=(\d+)/.exec(program.err)![1]}`;
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
    expect((await fetch(`${url}/healthz`)).status).toBe(503);
    program.signal("SIGTERM");
    expect(await program.end()).toEqual({ code: 1, parts: [...STARTED, ...CLOSED] });
  });

  it("serves profiles with --pprof.enabled, at --pprof.addr and --pprof.port", async () => {
    const program = new SmallProgram("--pprof.enabled", "--pprof.addr=127.0.0.2", "--pprof.port=0");
    await program.said("turns=0");
    const port = Number(/profiles listen" addr=127.0.0.2 port=(\d+)/.exec(program.err)![1]);
    expect((await fetch(`http://127.0.0.2:${port}/debug/pprof/heap`)).status).toBe(200);
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    const without = new SmallProgram();
    await without.said("turns=0");
    expect(without.err).not.toContain("profiles");
    const second = new SmallProgram("--pprof.enabled", "--pprof.addr=127.0.0.2", `--pprof.port=${port}`);
    expect(await second.end()).toMatchObject({ code: 1 });
    expect(second.logged("error")).toEqual([expect.stringContaining(`--pprof.port: port ${port} is in use on 127.0.0.2`)]);
    const elsewhere = new SmallProgram("--pprof.enabled", "--pprof.addr=192.0.2.1");
    expect(await elsewhere.end()).toMatchObject({ code: 1 });
    expect(elsewhere.logged("error")).toEqual([expect.stringContaining("--pprof.addr: this machine has no address 192.0.2.1")]);
  });

  it("writes a profile when it ends, and refuses a kind that there is not, and a folder that it cannot write", async () => {
    const folder = mkdtempSync(join(tmpdir(), "small-"));
    await new SmallProgram("--behaviour=leak", "--pprof.type=heap", `--pprof.path=${folder}`).end();
    expect([...readFileSync(join(folder, "heap.prof")).subarray(0, 2)]).toEqual([0x1f, 0x8b]); // gzip
    const mutex = new SmallProgram("--pprof.type=mutex");
    expect(await mutex.end()).toMatchObject({ code: 1 });
    expect(mutex.err).toBe(
      'small: --pprof.type: "mutex" is not there: JavaScript has no mutexes: take cpu for what keeps others waiting\n',
    );
    const unwritable = new SmallProgram("--pprof.type=cpu", "--pprof.path=/proc/none/cpu.prof");
    expect(await unwritable.end()).toMatchObject({ code: 1 });
    expect(unwritable.logged("error")).toEqual([
      expect.stringMatching(/^msg="small cannot start" error="--pprof.path: \/proc\/none\/cpu.prof cannot be written: ENOENT/),
    ]);
  });
});
