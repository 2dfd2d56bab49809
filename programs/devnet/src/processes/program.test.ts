import { mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@rnode/program/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Program, ProgramFailure, type ProgramSpec, tailOf } from "./program.ts";
import { Supervisor } from "./supervisor.ts";

describe("a child program", () => {
  let folder: string;
  const programs: Program[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "rnode-program-"));
  });
  afterEach(async () => {
    for (const program of programs.splice(0)) await program.kill("SIGKILL");
  });

  const logPath = (): string => join(folder, "logs", "child.log");
  const child = (script: string, change: Partial<ProgramSpec> = {}): Program => {
    const program: Program = new Program({
      name: "child",
      command: process.execPath,
      args: () => ["-e", script],
      logPath: logPath(),
      isReady: async () => tailOf(logPath(), 1).includes(`ready ${program.pid}`),
      readyTimeoutMs: 5_000,
      stopTimeoutMs: 5_000,
      ...change,
    });
    programs.push(program);
    return program;
  };
  const RUN = "console.log('ready', process.pid); setInterval(() => {}, 1000);";

  it("is up when it answers, and stops when asked", async () => {
    const program = child(`process.on('SIGTERM', () => { console.log('bye'); process.exit(0); }); ${RUN}`);
    await program.start();
    expect(program.isRunning).toBe(true);
    expect(await program.stop()).toEqual({ code: 0, signal: null });
    expect(program.pid).toBeUndefined();
    expect(readFileSync(logPath(), "utf8")).toMatch(/^=== .* -e .*\nready \d+\nbye\n$/);
    if (process.platform !== "win32") expect(statSync(logPath()).mode & 0o777).toBe(0o600);
  });

  it("is killed when it does not listen", async () => {
    const program = child(`process.on('SIGTERM', () => {}); ${RUN}`, { stopTimeoutMs: 200 });
    await program.start();
    expect(await program.stop()).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("can be killed and started again; its log goes on", async () => {
    const program = child(RUN);
    await program.start();
    const first = program.pid;
    expect(await program.kill("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
    await program.start();
    expect(program.pid).not.toBe(first);
    expect(readFileSync(logPath(), "utf8").match(/^ready \d+$/gm)).toEqual([`ready ${first}`, `ready ${program.pid}`]);
  });

  it.each([
    [
      "ends at once",
      "console.error('no such key'); process.exit(3)",
      /child ended with code 3\n(?:.*\n)* {2}\| no such key\n.*child\.log/,
    ],
    ["never answers", "console.log('hm'); setInterval(() => {}, 1000)", /did not answer within 0\.3 s/],
  ])("says what happened when it %s", async (_, script, message) => {
    const program = child(script, { readyTimeoutMs: script.includes("setInterval") ? 300 : 5_000 });
    const failure = await program.start().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ProgramFailure);
    expect((failure as Error).message).toMatch(message);
    expect(program.isRunning).toBe(false);
  });

  it("says when there is no such command", async () => {
    await expect(child(RUN, { command: join(folder, "missing") }).start()).rejects.toThrow("child could not be started");
  });

  it("is started again by the supervisor when it dies, but not when it was told to end", async () => {
    const lines: string[] = [];
    const supervisor = new Supervisor({ isOn: true, log: (line) => lines.push(line) });
    const program = child(RUN);
    supervisor.watch(program);
    await program.start();
    const first = program.pid!;
    process.kill(first, "SIGKILL");
    await until(() => lines.some((line) => line.includes("up again")));
    expect(program.pid).not.toBe(first);
    expect(lines[0]).toMatch(/child was ended by SIGKILL: starting it again in 0\.5 s/);

    await program.stop();
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(program.isRunning).toBe(false);
    supervisor.close();
  });

  it("stays down without supervision", async () => {
    const lines: string[] = [];
    const supervisor = new Supervisor({ isOn: false, log: (line) => lines.push(line) });
    const program = child(RUN);
    supervisor.watch(program);
    await program.start();
    process.kill(program.pid!, "SIGKILL");
    await until(() => lines.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(program.isRunning).toBe(false);
  });

  it("is given up when it keeps ending", async () => {
    const supervisor = new Supervisor({ isOn: true, log: () => {} });
    const program = child(RUN);
    supervisor.watch(program);
    for (let end = 0; end < 6; end++) program.onUnexpectedExit?.({ code: 1, signal: null });
    await expect(supervisor.failure).rejects.toThrow("for the 6th time within a minute: given up");
    supervisor.close();
  });
});
