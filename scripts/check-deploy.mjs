// The files in deploy/ without a container engine or systemd: the Containerfile is linted, and each command and environment file is read by the
// program it is for. Part of `.ci/run`.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { validate } from "dockerfile-utils";
import { parse } from "yaml";
import { bundledPackages } from "./lib/package-manifest.mjs";
import { ROOT } from "./lib/stamp.mjs";
import { workspacePackages } from "./lib/workspace.mjs";

const DEPLOY = join(ROOT, "deploy");
const VALUES = { NETWORK: "op-sepolia", L1: "https://l1.example", L1_BEACON: "https://beacon.example" };
const PROGRAMS = programPaths();
/** Programs read secrets and check folders when they parse their options, so the paths in deploy/ are created in this folder. */
const HERE = mkdtempSync(join(tmpdir(), "rnode-deploy-"));
const KEY_FILE = join(HERE, "key");
for (const file of [KEY_FILE, join(HERE, "jwt.hex")]) writeFileSync(file, "11".repeat(32), { mode: 0o600 });
const here = (value) => value.replace(/(^|=)\/(?:data|var\/lib\/rnode)\//, `$1${HERE}/`);
const problems = [...lintContainerfile(), ...checkCompose(), ...checkUnits()];
rmSync(HERE, { recursive: true });
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log("check-deploy: Containerfile, compose file and systemd units are fine");

function* lintContainerfile() {
  for (const { message, range } of validate(readFileSync(join(DEPLOY, "Containerfile"), "utf8"))) {
    yield `deploy/Containerfile:${range.start.line + 1}: ${message}`;
  }
}

function* checkCompose() {
  const text = readFileSync(join(DEPLOY, "compose.yaml"), "utf8").replace(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name) => {
    if (!(name in VALUES)) throw new Error(`deploy/compose.yaml uses ${name}, which docs/guide/deployment.md does not explain`);
    return VALUES[name];
  });
  const { services, volumes } = parse(text, { merge: true });
  for (const [name, service] of Object.entries(services)) {
    const where = `deploy/compose.yaml, service ${name}`;
    const [program, ...args] = service.command;
    yield* args[0] === "init" ? checkInit(where, args.slice(1)) : checkOptions(where, program, args, {});
    for (const other of Object.keys(service.depends_on ?? {})) if (!(other in services)) yield `${where}: depends on ${other}`;
    for (const volume of service.volumes) {
      const [source] = volume.split(":");
      if (!source.startsWith(".") && !(source in volumes)) yield `${where}: there is no volume ${source}`;
      if (source.startsWith(".") && !existsSync(join(DEPLOY, source))) yield `${where}: there is no folder ${source}`;
    }
    const port = /127\.0\.0\.1:(\d+)/.exec(service.healthcheck?.test.join(" ") ?? "")?.[1];
    if (port !== undefined && effective(program, args, "--metrics.port") !== port)
      yield `${where}: health is asked for at port ${port}`;
  }
}

function* checkUnits() {
  for (const file of readdirSync(join(DEPLOY, "systemd"))) {
    const where = `deploy/systemd/${file}`;
    const text = readFileSync(join(DEPLOY, "systemd", file), "utf8");
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    if (file.endsWith(".env")) {
      const env = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
      for (const name of Object.keys(env)) if (name.endsWith("_KEY_FILE")) env[name] = KEY_FILE;
      yield* checkOptions(where, basename(file, ".env"), [], env);
      continue;
    }
    for (const line of lines)
      if (!/^(?:\[\w+\]|[A-Z]\w+=.+)$/.test(line)) yield `${where}: "${line}" is neither a section nor a setting`;
    const program = /^ExecStart=.*\/(\w+)$/m.exec(text)?.[1];
    if (!PROGRAMS.has(program)) yield `${where}: starts ${program}, which is no program`;
    if (!existsSync(join(DEPLOY, "systemd", `${program}.env`))) yield `${where}: has no environment file`;
  }
}

/** Runs the program to check its options. */
function* checkOptions(where, program, args, env) {
  const { status, stderr } = configOf(program, args, env);
  if (status !== 0 || stderr !== "") yield `${where}: ${stderr.trim()}`;
}

function* checkInit(where, args) {
  const help = spawnSync(process.execPath, [PROGRAMS.get("rengine"), "init", "--help"], { encoding: "utf8" }).stdout;
  for (const arg of args) if (!help.includes(`${arg.split("=")[0]} `)) yield `${where}: rengine init has no ${arg}`;
}

function effective(program, args, option) {
  const line = configOf(program, args, {})
    .stdout.split("\n")
    .find((text) => text.startsWith(`${option} `));
  return line?.split(/\s+/)[1];
}

function configOf(program, args, env) {
  return spawnSync(process.execPath, [PROGRAMS.get(program), "config", "print", ...args.map(here)], {
    encoding: "utf8",
    env: { PATH: process.env.PATH, ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, here(value)])) },
  });
}

function programPaths() {
  return new Map(
    bundledPackages(workspacePackages()).flatMap(({ folder, manifest }) =>
      Object.entries(manifest.bin ?? {}).map(([name, path]) => [name, join(ROOT, folder, path)]),
    ),
  );
}
