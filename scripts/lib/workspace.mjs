// The packages of the workspace, and where they are.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, ROOT } from "./stamp.mjs";

/** Folders of packages, the lowest first: a package may use those of its own area and of areas before it. */
export const AREAS = [
  "packages/base",
  "packages/kit",
  "packages/execution",
  "packages/network",
  "packages/rollup",
  "programs",
  "lab",
];

/** @returns each package: its area, its folder from the root, and its manifest */
export function workspacePackages(root = ROOT) {
  return AREAS.flatMap((area) =>
    readdirSync(join(root, area))
      .map((name) => ({ area, folder: `${area}/${name}`, file: join(root, area, name, "package.json") }))
      .filter(({ file }) => existsSync(file))
      .map(({ area, folder, file }) => ({ area, folder, manifest: JSON.parse(readFileSync(file, "utf8")) })),
  );
}

/** @param name of a package, without its scope. @returns its folder from the root */
export function folderOf(name) {
  const found = workspacePackages().find(({ manifest }) => manifest.name === `@rnode/${name}`);
  if (found === undefined) throw new Error(`there is no package @rnode/${name}`);
  return found.folder;
}

/** The files of all packages, without build output. */
export function* packageFiles() {
  for (const { folder } of workspacePackages()) yield* filesBelow(join(ROOT, folder));
}
