// What `npm run package` makes can be installed into an empty folder without a compiler, and its programs run there. Needs the package registry
// for the parts that npm chooses by platform.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./lib/stamp.mjs";

const isWindows = process.platform === "win32";
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const { bin } = JSON.parse(readFileSync(join(ROOT, "build", "package", "package.json"), "utf8"));
const folder = mkdtempSync(join(tmpdir(), "rnode-package-"));

try {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  const tarball = join(ROOT, "build", `rnode-${version}.tgz`);
  run(isWindows ? "npm.cmd" : "npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", tarball], 300_000);

  for (const name of Object.keys(bin)) {
    expect(run(program(name), ["--version"]), new RegExp(` v${version.replaceAll(".", "\\.")}$`, "m"), `${name} --version`);
    expect(run(program(name), ["--help"]), /^Usage: /m, `${name} --help`);
  }
  useDatabase();
  console.log(`check-package: ${Object.keys(bin).join(", ")} run from ${tarball.slice(ROOT.length)} in an empty folder`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The native database, the engine in WebAssembly and threads, from a genesis block to the check of its state. */
function useDatabase() {
  const genesis = join(folder, "genesis.json");
  const data = join(folder, "data");
  const config = { chainId: 1337, homesteadBlock: 0, eip150Block: 0, eip155Block: 0, eip158Block: 0, byzantiumBlock: 0 };
  const alloc = { "0x00000000000000000000000000000000000000aa": { balance: "0x1" } };
  writeFileSync(genesis, JSON.stringify({ config, difficulty: "0x0", gasLimit: "0x1c9c380", alloc }));
  expect(
    run(program("rengine"), ["init", `--chain=${genesis}`, `--datadir=${data}`]),
    /genesis 0x[0-9a-f]{64} state 0x/,
    "rengine init",
  );
  run(program("rengine"), ["db", "verify", `--datadir=${data}`]);
  if (!existsSync(data)) fail("rengine init made no database");
}

function program(name) {
  return join(folder, "node_modules", ".bin", isWindows ? `${name}.cmd` : name);
}

function run(command, args, timeout = 60_000) {
  const result = spawnSync(command, args, { cwd: folder, encoding: "utf8", timeout, shell: isWindows });
  if (result.status !== 0) fail(`${command} ${args.join(" ")} failed: ${result.error ?? ""}\n${result.stdout}${result.stderr}`);
  return result.stdout + result.stderr;
}

function expect(text, pattern, what) {
  if (!pattern.test(text)) fail(`${what} printed nothing that matches ${pattern}:\n${text}`);
}

function fail(message) {
  throw new Error(message);
}
