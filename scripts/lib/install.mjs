import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isStampCurrent, ROOT, writeStamp } from "./stamp.mjs";

const isInstalled = () => existsSync(join(ROOT, "node_modules", "typescript"));
const readLock = () => readFileSync(join(ROOT, "package-lock.json"), "utf8");

/** The packages of the lockfile, by path; not those of this repository. */
const lockedPackages = () =>
  Object.entries(JSON.parse(readLock()).packages).filter(([path]) => /(?:^|\/)node_modules\//.test(path));

/** Whether the installed packages match the lockfile; packages for other platforms are optional. */
function isAsLocked() {
  const file = join(ROOT, "node_modules", ".package-lock.json");
  if (!existsSync(file)) return false;
  const installed = JSON.parse(readFileSync(file, "utf8")).packages ?? {};
  return lockedPackages().every(([path, { version, integrity, optional }]) => {
    const found = installed[path];
    return found === undefined ? optional === true : found.version === version && found.integrity === integrity;
  });
}

/** Ends this process where Node.js is too old to install anything. */
function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(`rnode needs Node 20.19 or newer, this is ${process.versions.node}`);
  process.exit(1);
}

function install() {
  console.log("installing dependencies (npm ci)");
  const isWindows = process.platform === "win32";
  const { status } = spawnSync(isWindows ? "npm.cmd" : "npm", ["ci"], { cwd: ROOT, stdio: "inherit", shell: isWindows });
  if (status !== 0) process.exit(status ?? 1);
  writeStamp("install", readLock());
}

/** For users: the installed packages must match the lockfile. */
export function installWhatIsLocked() {
  checkNode();
  if (!isInstalled() || !(isStampCurrent("install", readLock()) || isAsLocked())) install();
}

/** For developers: the installed packages may differ from the lockfile, because dependencies are changed that way. */
export function installWhenMissing() {
  checkNode();
  if (!isInstalled()) install();
}

/** For checks, after a branch got a new dependency: installs what is not there at all. */
export function installWhatIsAbsent() {
  installWhenMissing();
  const isAbsent = ([path, { optional, link }]) => optional !== true && link !== true && !existsSync(join(ROOT, path));
  if (!lockedPackages().some(isAbsent)) return;
  console.log("installing new dependencies");
  const isWindows = process.platform === "win32";
  const args = ["install", "--no-save", "--no-audit", "--no-fund"];
  const { status } = spawnSync(isWindows ? "npm.cmd" : "npm", args, { cwd: ROOT, stdio: "inherit", shell: isWindows });
  if (status !== 0) process.exit(status ?? 1);
}
