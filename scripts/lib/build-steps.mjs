import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { installWhenMissing } from "./install.mjs";
import { fingerprint, isStampCurrent, ROOT, writeStamp } from "./stamp.mjs";
import { folderOf, workspacePackages } from "./workspace.mjs";

/** Runs a command in the repository; if it fails, ends this process with its exit code. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: ROOT, stdio: "inherit", ...options });
  if (result.error) throw result.error;
  if (result.status !== 0) process.exit(result.status ?? 1);
}

/** Runs `step` unless its inputs are unchanged since the last time and its outputs exist. */
export function whenStale(name, inputs, outputs, step) {
  const current = fingerprint(inputs);
  if (outputs.every((output) => existsSync(join(ROOT, output))) && isStampCurrent(name, current)) return;
  installWhenMissing();
  console.log(`building ${name}`);
  step();
  writeStamp(name, current);
}

/** The EVM engine (WebAssembly) and its arithmetic in native code */
export function buildEngine() {
  const inputs = ["packages/execution/evm/assembly", "packages/execution/evm/scripts", "package-lock.json"];
  whenStale("engine", inputs, ["packages/execution/evm/build/engine.wasm"], () =>
    run(process.execPath, ["packages/execution/evm/scripts/build-engine.mjs"]),
  );
  buildNative();
}

/** Where there is no C compiler the script says so, and WebAssembly does the work. */
function buildNative() {
  const inputs = [
    "packages/base/native/assembly",
    "packages/base/native/c",
    "packages/base/native/scripts",
    "packages/execution/evm/assembly",
    "packages/execution/evm/scripts",
    "package-lock.json",
  ];
  whenStale("native", inputs, ["packages/base/native/build/outcome.txt"], () =>
    run(process.execPath, ["packages/base/native/scripts/build-native.mjs"]),
  );
}

export function buildContracts() {
  const inputs = ["programs/devnet/contracts", "programs/devnet/scripts", "package-lock.json"];
  whenStale("contracts", inputs, ["programs/devnet/build/contracts.json"], () =>
    run(process.execPath, ["programs/devnet/scripts/build-contracts.mjs"]),
  );
}

/** The dashboard's page, as static files. */
function buildDashboard() {
  const inputs = [
    "programs/dashboard/src/page",
    "programs/dashboard/src/messages.ts",
    "programs/dashboard/scripts",
    "package-lock.json",
  ];
  whenStale("dashboard", inputs, ["programs/dashboard/build/page/index.html"], () =>
    run(process.execPath, ["programs/dashboard/scripts/build-page.mjs"]),
  );
}

/** The verifier's page: static files with the code of the node that it runs. */
function buildVerifier() {
  const sources = ["primitives", "native", "protocol", "trie", "evm", "derivation", "compression", "chain"];
  const inputs = [
    ...sources.map((name) => `${folderOf(name)}/src`),
    "packages/execution/evm/assembly",
    "programs/verifier/src",
    "programs/verifier/scripts",
    "package-lock.json",
  ];
  whenStale("verifier", inputs, ["programs/verifier/build/page/index.html"], () =>
    run(process.execPath, ["programs/verifier/scripts/build-page.mjs"]),
  );
}

/** Go's program, or undefined where it is not installed. */
export function findGo() {
  return ["go", "/usr/local/go/bin/go"].find((go) => spawnSync(go, ["version"], { stdio: "ignore" }).status === 0);
}

/** The programs in Go and Rust that ours are compared with, and their packages. Their modules and crates come from the registries the first time. */
const INTEROP = {
  p2p: { folder: "packages/network/p2p", binary: "p2p-interop" },
  devp2p: { folder: "packages/network/devp2p", binary: "devp2p-interop" },
  conductor: { folder: "programs/rconductor", binary: "conductor-interop" },
  derivation: { folder: "lab/conformance", binary: "derivation-interop" },
  amsterdam: { folder: "programs/devnet", binary: "amsterdam-l1" },
  challenger: { folder: "programs/rproposer", binary: "challenger", prepare: completeOptimism },
  snap: { folder: "programs/rengine", binary: "op-geth", source: "github.com/ethereum/go-ethereum/cmd/geth" },
  s3: { folder: "packages/execution/snapshot", binary: "versitygw", source: "github.com/versity/versitygw/cmd/versitygw" },
  nats: { folder: "programs/rengine", module: "interop/nats", binary: "nats-server", source: "github.com/nats-io/nats-server/v2" },
  // it is followed by op-node, beside it
  supernode: { ...ofOptimism("op-supernode"), beside: ofOptimism("op-node") },
  boost: { folder: "programs/devnet", crate: "rollup-boost" },
};

/** A program of the OP Stack's module as it is. */
function ofOptimism(name) {
  const source = `github.com/ethereum-optimism/optimism/${name}/cmd`;
  return { folder: "programs/rproposer", binary: name, source, prepare: completeOptimism };
}

/** Geth's `devp2p`, which tests nodes of others, in the version whose test chain needs no fork that L2 does not have. */
const GETH_DEVP2P = "github.com/ethereum/go-ethereum/cmd/devp2p@v1.16.9";

/** @returns the program and its test chain, or undefined where Go is not installed */
export function buildGethDevp2p() {
  const go = findGo();
  if (go === undefined) return undefined;
  const bin = join(ROOT, "packages/network/devp2p/build");
  whenStale("geth-devp2p", ["scripts/lib/build-steps.mjs"], ["packages/network/devp2p/build/devp2p"], () =>
    run(go, ["install", "-trimpath", GETH_DEVP2P], { cwd: ROOT, env: { ...process.env, GOBIN: bin, GOFLAGS: "" } }),
  );
  const cache = spawnSync(go, ["env", "GOMODCACHE"], { encoding: "utf8" }).stdout.trim();
  const version = GETH_DEVP2P.split("@")[1];
  return {
    binary: join(bin, "devp2p"),
    testdata: join(cache, `github.com/ethereum/go-ethereum@${version}/cmd/devp2p/internal/ethtest/testdata`),
  };
}

/** Copies the OP Stack's module, and adds the archive that its programs embed and the published module lacks. */
function completeOptimism(go, folder) {
  whenStale("optimism", [`${folder}/interop`], [`${folder}/build/optimism`], () => copyOptimism(go, folder));
}

function copyOptimism(go, folder) {
  const module = "github.com/ethereum-optimism/optimism";
  const interop = join(ROOT, folder, "interop");
  const [, version] = readFileSync(join(interop, "go.mod"), "utf8").match(new RegExp(`^\\s*(?:require )?${module} (v\\S+)`, "m"));
  const { stdout } = spawnSync(go, ["mod", "download", "-json", `${module}@${version}`], { encoding: "utf8", cwd: ROOT });
  const copy = join(ROOT, folder, "build/optimism");
  rmSync(copy, { recursive: true, force: true });
  const isNeeded = (path) => !/[\\/](?:docs|rust)$/.test(path);
  cpSync(JSON.parse(stdout).Dir, copy, { recursive: true, filter: isNeeded });
  // the module cache is read-only
  for (const entry of readdirSync(copy, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), 0o755);
  const registry = join(copy, "op-core/superchain");
  rmSync(join(registry, "superchain-configs.zip.sha256"));
  run(go, ["run", "./registry", registry], { cwd: interop });
}

/** @returns the path of a program in Go or Rust, or undefined where its language is not installed */
export function buildInterop(name = "p2p") {
  const { beside, ...program } = INTEROP[name];
  if (program.crate !== undefined) return buildCargo(program);
  if (beside !== undefined) buildGo(beside);
  return buildGo(program);
}

function buildCargo({ folder, crate }) {
  const source = `${folder}/interop/${crate}`;
  const target = `${folder}/build/${crate}`;
  const program = `${target}/debug/${crate}-interop`;
  if (spawnSync("cargo", ["--version"], { stdio: "ignore" }).status !== 0) return undefined;
  whenStale(crate, [source], [program], () =>
    run("cargo", ["build", "--quiet", `--manifest-path=${join(ROOT, source, "Cargo.toml")}`, `--target-dir=${join(ROOT, target)}`]),
  );
  return join(ROOT, program);
}

function buildGo({ folder, module = "interop", binary, source = ".", prepare }) {
  const program = `${folder}/build/${binary}`;
  const go = findGo();
  if (go === undefined) return undefined;
  whenStale(binary, [`${folder}/${module}`], [program], () => {
    prepare?.(go, folder);
    run(go, ["build", "-trimpath", "-o", join(ROOT, program), source], { cwd: join(ROOT, folder, module) });
  });
  return join(ROOT, program);
}

export function buildTypeScript() {
  const folders = workspacePackages().map(({ folder }) => folder);
  const inputs = [...folders, "scripts/lib/bundle.mjs", "tsconfig.json", "tsconfig.base.json", "package-lock.json"];
  const outputs = folders.flatMap((folder) => [`${folder}/dist/index.js`, `${folder}/lib/index.js`]);
  whenStale("typescript", inputs, outputs, () => {
    run(process.execPath, [join("node_modules", "typescript", "bin", "tsc"), "-b"]);
    run(process.execPath, ["scripts/lib/bundle.mjs"]);
  });
}

/** Everything that the programs need, where it is out of date. */
export function buildPrograms() {
  buildEngine();
  buildContracts();
  buildDashboard();
  buildVerifier();
  buildTypeScript();
}
