import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** All files below `path` (or `path` itself), except dependencies and build output next to a package.json. */
export function* filesBelow(path) {
  if (!existsSync(path)) return;
  if (statSync(path).isFile()) {
    yield path;
    return;
  }
  const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  const isPackage = entries.some(({ name }) => name === "package.json");
  for (const entry of entries) {
    if (entry.name === "node_modules" || (isPackage && ["dist", "lib", "build"].includes(entry.name))) continue;
    yield* filesBelow(join(path, entry.name));
  }
}

/** A hash of names and contents; git changes modification times of files that it leaves as they are. */
export function fingerprint(paths) {
  const hash = createHash("sha256");
  for (const path of paths) {
    for (const file of filesBelow(join(ROOT, path))) {
      const content = readFileSync(file);
      hash.update(`${file.slice(ROOT.length)} ${content.length}\n`).update(content);
    }
  }
  return hash.digest("hex");
}

const stampFile = (name) => join(ROOT, "node_modules", ".cache", "rnode", name);

export function isStampCurrent(name, value) {
  const file = stampFile(name);
  return existsSync(file) && readFileSync(file, "utf8") === value;
}

export function writeStamp(name, value) {
  const file = stampFile(name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, value);
}
