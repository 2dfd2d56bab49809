// Runs before `npm start` and `npm test`: installs and builds what is missing, and says so; if nothing is missing, it takes well
// under a second.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isStampCurrent, ROOT, writeStamp } from "./lib/stamp.mjs";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`rnode needs Node 20.19 or newer, this is ${process.versions.node}`);
  process.exit(1);
}

const lock = readFileSync(join(ROOT, "package-lock.json"), "utf8");
if (!existsSync(join(ROOT, "node_modules", "typescript")) || !isStampCurrent("install", lock)) {
  console.log("installing dependencies (npm ci)");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const install = spawnSync(npm, ["ci"], { cwd: ROOT, stdio: "inherit", shell: process.platform === "win32" });
  if (install.status !== 0) process.exit(install.status ?? 1);
  writeStamp("install", lock);
}

const { buildPrograms } = await import("./lib/build-steps.mjs");
buildPrograms();
