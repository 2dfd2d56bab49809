import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findGo, run, whenStale } from "./build-steps.mjs";
import { ROOT } from "./stamp.mjs";

/** Programs in Go that read what is in deploy/ and docs/monitoring. */
const TOOLS = {
  helm: ["helm.sh/helm/v3/cmd/helm@v3.22.0"],
  kubeconform: ["github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"],
  promtool: ["-tags=remove_all_sd", "github.com/prometheus/prometheus/cmd/promtool@v0.316.0"],
};
/** Its schemas are checked against. */
export const KUBERNETES = "1.34.2";
const FOLDER = "build/deploy-tools";
/** `npm run check:deploy -- --build` makes what is not installed: minutes each. */
const go = process.argv.includes("--build") ? findGo() : undefined;

/** @returns the program's path: one that is installed, or was built from the module proxy */
export function deployTool(name) {
  if (
    spawnSync(name, [name === "kubeconform" ? "-v" : name === "helm" ? "version" : "--version"], { stdio: "ignore" }).status === 0
  )
    return name;
  const program = `${FOLDER}/${name}`;
  if (go === undefined) return builtAt(program);
  whenStale(`deploy-${name}`, ["scripts/lib/deploy-tools.mjs"], [program], () =>
    run(go, ["install", "-trimpath", ...TOOLS[name]], { env: { ...process.env, GOBIN: join(ROOT, FOLDER), GOFLAGS: "" } }),
  );
  return join(ROOT, program);
}

/** A folder with the schema of each kind of Kubernetes, made of the module that has its OpenAPI document; undefined where there is no Go. */
export function kubernetesSchemas() {
  const folder = `${FOLDER}/kubernetes-${KUBERNETES}`;
  if (go === undefined) return builtAt(folder);
  whenStale("deploy-schemas", ["scripts/lib/deploy-tools.mjs"], [folder], () => {
    const { stdout } = spawnSync(go, ["mod", "download", "-json", `k8s.io/kubernetes@v${KUBERNETES}`], { encoding: "utf8" });
    writeSchemas(join(JSON.parse(stdout).Dir, "api/openapi-spec/swagger.json"), join(ROOT, folder));
  });
  return join(ROOT, folder);
}

const builtAt = (path) => (existsSync(join(ROOT, path)) ? join(ROOT, path) : undefined);

function writeSchemas(document, folder) {
  const { definitions } = JSON.parse(readFileSync(document, "utf8"));
  for (const [name, definition] of Object.entries(definitions)) {
    if (definition.properties !== undefined) definition.additionalProperties = false;
    if (definition.format === "int-or-string" || name.endsWith(".resource.Quantity")) definition.type = ["string", "number"];
  }
  mkdirSync(folder, { recursive: true });
  const text = JSON.stringify({ definitions }, (key, value) => (key === "format" ? undefined : value));
  writeFileSync(join(folder, "_definitions.json"), text.replaceAll('"$ref":"#/', '"$ref":"_definitions.json#/'));
  for (const [name, { "x-kubernetes-group-version-kind": kinds = [] }] of Object.entries(definitions)) {
    for (const { group, version, kind } of kinds) {
      const file = [kind, ...(group === "" ? [] : [group.split(".")[0]]), version].join("-").toLowerCase();
      writeFileSync(join(folder, `${file}.json`), JSON.stringify({ $ref: `_definitions.json#/definitions/${name}` }));
    }
  }
}
