// The files in deploy/ without a container engine, a cluster or systemd: the Containerfile is linted, each command and environment file is read by the
// program it is for, the Helm chart is rendered and compared with the schemas of Kubernetes, and the alert rules of docs/monitoring are made to fire. Part
// of `.ci/run`. With `--build`, and Go, helm, kubeconform, promtool and the schemas are built unless they are there: minutes each, once.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { validate } from "dockerfile-utils";
import { parse, parseAllDocuments } from "yaml";
import { deployTool, KUBERNETES, kubernetesSchemas } from "./lib/deploy-tools.mjs";
import { bundledPackages } from "./lib/package-manifest.mjs";
import { ROOT } from "./lib/stamp.mjs";
import { workspacePackages } from "./lib/workspace.mjs";

const DEPLOY = join(ROOT, "deploy");
const VALUES = { NETWORK: "op-sepolia", L1: "https://l1.example", L1_BEACON: "https://beacon.example" };
/** Variables of the chart's containers that come from a Secret. */
const VALUES_OF_SECRETS = {
  RNODE_L1_ETH_RPC: VALUES.L1,
  RNODE_L1_BEACON: VALUES.L1_BEACON,
  RBATCHER_L1_ETH_RPC: VALUES.L1,
  RPROPOSER_L1_ETH_RPC: VALUES.L1,
};
/** The chart with each of these values is rendered, and checked against the schemas of Kubernetes; its containers' options are read by the programs. */
const CHART = join(DEPLOY, "helm/rnode");
const HELM_VALUES = [
  [],
  ["--values", join(CHART, "ci/all-values.yaml")],
  ["--set", "chainConfigMap=chain,l1.existingSecret=l1,jwt.existingSecret=jwt,sequencer.enabled=true,sequencer.bootstrap=true"],
];
const PROGRAMS = programPaths();
/** Programs read secrets and check folders when they parse their options, so the paths in deploy/ are created in this folder. */
const HERE = mkdtempSync(join(tmpdir(), "rnode-deploy-"));
const KEY_FILE = join(HERE, "key");
for (const name of ["key", "jwt.hex", "sequencer.key", "batcher.key", "proposer.key"])
  writeFileSync(join(HERE, name), "11".repeat(32), { mode: 0o600 });
writeFileSync(join(HERE, "genesis.json"), "{}");
const here = (value) => value.replace(/(^|=)\/(?:data|keys|secrets|config|var\/lib\/rnode)\//, `$1${HERE}/`);
const problems = [...lintContainerfile(), ...checkCompose(), ...checkUnits(), ...checkChart(), ...checkAlerts()];
rmSync(HERE, { recursive: true });
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log("check-deploy: what is in deploy/ is fine, and so are the alert rules");

function* lintContainerfile() {
  for (const { message, range } of validate(readFileSync(join(DEPLOY, "Containerfile"), "utf8"))) {
    yield `deploy/Containerfile:${range.start.line + 1}: ${message}`;
  }
}

function* checkCompose() {
  const text = readFileSync(join(DEPLOY, "compose.yaml"), "utf8").replace(
    /\$\{(\w+)(?::[?-]([^}]*))?\}/g,
    (all, name, fallback) => {
      if (all.includes(":-")) return fallback;
      if (!(name in VALUES)) throw new Error(`deploy/compose.yaml uses ${name}, which docs/guide/deployment.md does not explain`);
      return VALUES[name];
    },
  );
  const { services, volumes } = parse(text, { merge: true });
  for (const [name, service] of Object.entries(services)) {
    const where = `deploy/compose.yaml, service ${name}`;
    const [program, ...args] = service.command;
    const subcommand = args[0] === "snapshot" ? ["snapshot", "create"] : args[0] === "init" ? ["init"] : [];
    if (subcommand.length === 0) yield* checkOptions(where, program, args, {});
    else yield* checkSubcommand(where, subcommand, args.slice(subcommand.length));
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

function* checkSubcommand(where, subcommand, args) {
  const help = spawnSync(process.execPath, [PROGRAMS.get("rengine"), ...subcommand, "--help"], { encoding: "utf8" }).stdout;
  for (const arg of args)
    if (!help.includes(`${arg.split("=")[0]} `)) yield `${where}: rengine ${subcommand.join(" ")} has no ${arg}`;
}

function* checkChart() {
  const [helm, kubeconform, schemas] = [deployTool("helm"), deployTool("kubeconform"), kubernetesSchemas()];
  if (helm === undefined || kubeconform === undefined || schemas === undefined) {
    console.log(
      "check-deploy: the Helm chart was not checked for want of helm, kubeconform and the schemas (npm run check:deploy -- --build)",
    );
    return;
  }
  for (const values of HELM_VALUES) {
    const where = `deploy/helm/rnode ${values.join(" ").replace(`${ROOT}/`, "")}`.trim();
    const lint = spawnSync(helm, ["lint", "--strict", "--quiet", CHART, ...values], { encoding: "utf8" });
    if (lint.status !== 0) yield `${where}: ${lint.stdout}${lint.stderr}`;
    const rendered = spawnSync(helm, ["template", "release", CHART, `--kube-version=${KUBERNETES}`, ...values], {
      encoding: "utf8",
    });
    if (rendered.status !== 0) yield `${where}: ${rendered.stderr}`;
    const location = `${schemas}/{{.ResourceKind}}{{.KindSuffix}}.json`;
    const conform = spawnSync(kubeconform, ["-strict", "-schema-location", location, "-"], {
      encoding: "utf8",
      input: rendered.stdout,
    });
    if (conform.status !== 0) yield `${where}: ${conform.stdout}${conform.stderr}`;
    const objects = parseAllDocuments(rendered.stdout).map((document) => document.toJS());
    for (const object of objects) if (object?.spec?.template !== undefined) yield* checkPod(where, object, objects);
  }
}

/** As the restricted Pod Security Standard wants it, and with options that the programs take. */
function* checkPod(where, { kind, metadata, spec: { template } }, objects) {
  const { containers, volumes, securityContext } = template.spec;
  const name = `${where}, ${kind} ${metadata.name}`;
  if (securityContext.runAsNonRoot !== true || securityContext.seccompProfile?.type !== "RuntimeDefault")
    yield `${name}: its pod may run as root, or without a seccomp profile`;
  for (const container of containers) {
    const at = `${name}, container ${container.name}`;
    const { securityContext: own, args, env = [], ports = [], volumeMounts } = container;
    if (!own.readOnlyRootFilesystem || own.allowPrivilegeEscalation || own.capabilities.drop[0] !== "ALL")
      yield `${at}: its rights are too wide`;
    for (const mount of volumeMounts)
      if (![...volumes, { name: "data" }].some((volume) => volume.name === mount.name))
        yield `${at}: there is no volume ${mount.name}`;
    const [program, ...rest] = args;
    const variables = Object.fromEntries(env.map((each) => [each.name, each.value ?? VALUES_OF_SECRETS[each.name] ?? "pod-0"]));
    if (rest[0] === "snapshot") yield* checkSubcommand(at, ["snapshot", "create"], rest.slice(2));
    else yield* checkOptions(at, program, rest, variables);
    const port = ports.find((each) => each.name.startsWith("metrics"))?.containerPort;
    if (port !== undefined && effective(program, rest, "--metrics.port", variables) !== String(port))
      yield `${at}: probes ask at port ${port}`;
    yield* checkAddresses(at, rest, objects);
  }
}

/** Each address within the release is one of its services, with that port. */
function* checkAddresses(at, args, objects) {
  for (const [, host, port] of args.join(" ").matchAll(/http:\/\/(release-[\w-]+):(\d+)/g)) {
    const service = objects.find((object) => object?.kind === "Service" && object.metadata.name === host);
    if (!service?.spec.ports.some((each) => String(each.port) === port)) yield `${at}: no service has ${host}:${port}`;
  }
}

/** Each rule fires in a test of its own, and does not before its time. */
function* checkAlerts() {
  const folder = join(ROOT, "docs/monitoring");
  const { tests } = parse(readFileSync(join(folder, "alerts.test.yml"), "utf8"));
  const tested = new Set(tests.map(({ name }) => name));
  for (const { rules } of parse(readFileSync(join(folder, "alerts.yml"), "utf8")).groups)
    for (const { alert } of rules) if (!tested.has(alert)) yield `docs/monitoring/alerts.test.yml: ${alert} is not made to fire`;
  const promtool = deployTool("promtool");
  if (promtool === undefined) {
    console.log("check-deploy: the alert rules were not run for want of promtool (npm run check:deploy -- --build)");
    return;
  }
  const { status, stdout, stderr } = spawnSync(promtool, ["test", "rules", join(folder, "alerts.test.yml")], { encoding: "utf8" });
  if (status !== 0) yield `docs/monitoring/alerts.test.yml: ${stdout}${stderr}`;
}

function effective(program, args, option, env = {}) {
  const line = configOf(program, args, env)
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
