// The package.json of the published package `rnode`.
import { specOf } from "./bundle-layout.mjs";

/** The devnet's program gets a name that says whose it is. */
const PUBLISHED_NAMES = { devnet: "rnode-devnet" };

/** The workspace packages that the programs need: those that have a program, and everything of ours they import. */
export function bundledPackages(workspace) {
  const byName = new Map(workspace.map((entry) => [entry.manifest.name, entry]));
  const found = new Set(workspace.filter(({ manifest }) => manifest.bin !== undefined));
  for (const { manifest } of found) {
    for (const name of Object.keys(manifest.dependencies ?? {})) if (byName.has(name)) found.add(byName.get(name));
  }
  return [...found].sort((a, b) => a.manifest.name.localeCompare(b.manifest.name));
}

/** @param layout of `bundleLayout` */
export function publishedManifest(root, lock, bundled, { copies, external }) {
  const dependencies = Object.fromEntries(bundled.map(({ manifest }) => [manifest.name, manifest.version]));
  for (const [path, source] of copies) {
    const name = path.slice("node_modules/".length);
    if (!name.includes("/node_modules/")) dependencies[name] = specOf(name, lock.packages[source]);
  }
  const bundleDependencies = Object.keys(dependencies).sort();
  const optionalDependencies = {};
  for (const [name, { spec, isOptional }] of external) (isOptional ? optionalDependencies : dependencies)[name] = spec;
  return {
    name: root.name,
    version: root.version,
    description: root.description,
    license: root.license,
    type: "module",
    engines: root.engines,
    bin: binsOf(bundled),
    dependencies: sorted(dependencies),
    optionalDependencies: sorted(optionalDependencies),
    bundleDependencies,
  };
}

function binsOf(bundled) {
  const bins = {};
  for (const { manifest } of bundled) {
    for (const [name, path] of Object.entries(manifest.bin ?? {})) {
      bins[PUBLISHED_NAMES[name] ?? name] = `node_modules/${manifest.name}/${path.replace(/^\.\//, "")}`;
    }
  }
  return sorted(bins);
}

function sorted(record) {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => a.localeCompare(b)));
}
