// `npm run package`: one tarball with all programs. It is staged in build/package: our packages and those of others that have no native parts lie in
// its node_modules and go with it, in the versions of package-lock.json.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildPrograms } from "./lib/build-steps.mjs";
import { bundleLayout, specOf } from "./lib/bundle-layout.mjs";
import { bundledPackages, publishedManifest } from "./lib/package-manifest.mjs";
import { ROOT } from "./lib/stamp.mjs";
import { workspacePackages } from "./lib/workspace.mjs";

const BUILD = join(ROOT, "build");
const STAGE = join(BUILD, "package");
const TEXTS = ["README.md", "LICENSE", "CHANGELOG.md"];

buildPrograms();

const bundled = bundledPackages(workspacePackages());
const lock = readJson("package-lock.json");
const layout = bundleLayout(lock, bundled);
const manifest = publishedManifest(readJson("package.json"), lock, bundled, layout);

rmSync(STAGE, { recursive: true, force: true });
mkdirSync(STAGE, { recursive: true });
for (const file of TEXTS) cpSync(join(ROOT, file), join(STAGE, file));
writeJson(join(STAGE, "package.json"), { ...manifest, files: TEXTS });
for (const entry of bundled) stageOurs(entry);
for (const [path, source] of layout.copies) stageForeign(path, source);

const npm = process.platform === "win32" ? "npm.cmd" : "npm";
const packed = spawnSync(npm, ["pack", "--json", "--ignore-scripts", `--pack-destination=${BUILD}`], {
  cwd: STAGE,
  stdio: ["ignore", "pipe", "inherit"],
  shell: process.platform === "win32",
  encoding: "utf8",
  maxBuffer: 1 << 28,
});
if (packed.status !== 0) process.exit(packed.status ?? 1);
const [{ filename, size, unpackedSize, entryCount }] = Object.values(JSON.parse(packed.stdout));
console.log(`build/${filename}: ${toMiB(size)}, ${toMiB(unpackedSize)} unpacked, ${entryCount} files`);

/** A package as its importers see it. Its dependencies are listed by the package that bundles it. */
function stageOurs({ folder, manifest: { name, version, license, type, exports, bin, files } }) {
  const target = join(STAGE, "node_modules", name);
  mkdirSync(target, { recursive: true });
  writeJson(join(target, "package.json"), { name, version, license, type, exports: withoutSources(exports), bin });
  for (const path of files.flatMap((pattern) => expand(join(ROOT, folder), pattern))) {
    const source = join(ROOT, folder, path);
    if (existsSync(source)) cpSync(source, join(target, path), { recursive: true, filter: isShipped });
  }
}

/** `build/*.node` stands for all such files in that folder. */
function expand(folder, pattern) {
  const [before, after] = pattern.split("*");
  if (after === undefined) return [pattern];
  const entries = existsSync(join(folder, before)) ? readdirSync(join(folder, before)) : [];
  return entries.filter((name) => name.endsWith(after)).map((name) => `${before}${name}`);
}

/** A package of others. Its manifest names only what lies within it: all else is found further out, in the version that was tested. */
function stageForeign(path, source) {
  const target = join(STAGE, path);
  const nested = join(ROOT, source, "node_modules");
  cpSync(join(ROOT, source), target, { recursive: true, filter: (file) => file !== nested && isShipped(file) });
  const manifest = readJson(`${source}/package.json`);
  for (const key of [
    "dependencies",
    "optionalDependencies",
    "peerDependencies",
    "peerDependenciesMeta",
    "devDependencies",
    "scripts",
  ]) {
    delete manifest[key];
  }
  const within = `${path}/node_modules/`;
  const inner = [...layout.copies].filter(
    ([place]) => place.startsWith(within) && !place.slice(within.length).includes("/node_modules/"),
  );
  manifest.dependencies = Object.fromEntries(
    inner.map(([place, from]) => [place.slice(within.length), specOf(place.slice(within.length), lock.packages[from])]),
  );
  manifest.bundleDependencies = Object.keys(manifest.dependencies);
  writeJson(join(target, "package.json"), manifest);
}

/** Tests, declarations and maps stay here. */
function isShipped(path) {
  return !/\.(test|e2e)\.js$|\.d\.ts$|\.map$|\.tsbuildinfo$|\/e2e$/.test(path);
}

function withoutSources(exports) {
  return Object.fromEntries(
    Object.entries(exports).map(([path, target]) => [path, typeof target === "string" ? target : target.default]),
  );
}

function readJson(path) {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8"));
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

function toMiB(bytes) {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
