import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const repository = resolve(fileURLToPath(import.meta.url), "../../../../../..");
const folder = mkdtempSync(join(tmpdir(), "rnode-new-fork-"));

function copySource(source: string, name: string): void {
  if (!existsSync(source)) return;
  cpSync(source, join(folder, name), {
    recursive: true,
    filter: (path) => !/\.(?:test|fuzz|bench|e2e)\.ts$/.test(path) && !path.endsWith("/testing"),
  });
}

/** Copies the sources of all packages, without their tests, as one project. */
function copySources(): void {
  for (const area of [
    "packages/base",
    "packages/kit",
    "packages/execution",
    "packages/network",
    "packages/rollup",
    "programs",
    "lab",
  ]) {
    for (const name of readdirSync(join(repository, area))) copySource(join(repository, area, name, "src"), name);
  }
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  const compilerOptions = {
    composite: false,
    noEmit: true,
    declaration: false,
    declarationMap: false,
    types: ["node", "vite/client"],
    allowImportingTsExtensions: true,
    rewriteRelativeImportExtensions: false,
    paths: { "@rnode/*": ["./*/index.ts"] },
  };
  const config = { extends: join(repository, "tsconfig.base.json"), compilerOptions, include: ["*/**/*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
}

function addFork(file: string, list: string, name: string): void {
  const path = join(folder, "protocol", "forks", file);
  const source = readFileSync(path, "utf8");
  const changed = source.replace(new RegExp(`(export const ${list} = \\[[^\\]]*)\\]`), `$1"${name}"]`);
  if (changed === source) throw new Error(`${file} has no list ${list}`);
  writeFileSync(path, changed);
}

/** Compiles the project; returns each error with its explanation lines. */
function compile(): string[] {
  const tsc = join(repository, "node_modules", "typescript", "bin", "tsc");
  const { stdout, error } = spawnSync(process.execPath, [tsc, "-p", ".", "--pretty", "false"], { cwd: folder, encoding: "utf8" });
  if (error !== undefined) throw error;
  return stdout.split(/\n(?=\S)/).filter((text) => text.trim() !== "");
}

// CONTRIBUTING.md lists these places as the recipe for a new fork.
it("a fork that is new to the lists is missing in its table, and nowhere else", { tags: "long" }, () => {
  copySources();
  addFork("op-forks.ts", "OP_FORKS", "madeUpRollupFork");
  addFork("evm-forks.ts", "EVM_FORKS", "madeUpEthereumFork");
  const gaps = compile().map((error) => {
    const [, file, name] = /^(\S+)\(\d+,\d+\): error .*Property '(\w+)' is missing/s.exec(error) ?? [];
    return file === undefined ? error : `${file}: ${name}`;
  });
  expect(gaps.sort()).toEqual([
    "conformance/fuzz/oracle.ts: madeUpEthereumFork",
    "protocol/forks/evm-forks.ts: madeUpEthereumFork",
    "protocol/forks/op-forks.ts: madeUpRollupFork",
  ]);
});
