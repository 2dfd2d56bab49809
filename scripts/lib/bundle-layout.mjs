// The third-party packages in the published package, and their places in its node_modules. Users get exactly the tested versions:
// everything is bundled except packages with native parts, which npm must choose by platform.

/**
 * @param lock package-lock.json of the repository
 * @param bundled the workspace packages in it: folder and manifest
 * @returns `copies`: path in the published package → path in the repository; `external`: name → what to ask npm for, and whether the programs run
 * without it
 */
export function bundleLayout(lock, bundled) {
  const ours = new Set(bundled.map(({ manifest }) => manifest.name));
  const copies = new Map();
  const external = new Map();
  const queue = [];

  for (const { folder, manifest } of bundled) {
    for (const name of Object.keys(manifest.dependencies ?? {})) if (!ours.has(name)) place(folder, "", name, false);
    for (const name of Object.keys(manifest.optionalDependencies ?? {})) place(folder, "", name, true);
  }
  while (queue.length > 0) {
    const { from, to } = queue.shift();
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = lock.packages[from];
    for (const name of Object.keys(dependencies)) place(from, to, name, false);
    for (const name of Object.keys(optionalDependencies)) place(from, to, name, true);
    for (const name of Object.keys(peerDependencies)) if (!peerDependenciesMeta[name]?.optional) place(from, to, name, false);
  }
  return { copies, external };

  /** Gives what `name` means to the package at `from` in the repository a place where the package at `to` finds it. */
  function place(from, to, name, isOptional) {
    const source = lookUp((path) => path in lock.packages, from, name);
    if (source === undefined) {
      if (isOptional) return;
      throw new Error(`package-lock.json has no ${name} for ${from}`);
    }
    const entry = lock.packages[source];
    if (isNative(entry)) return nameExternal(name, entry, isOptional);
    const nearest = lookUp((path) => copies.has(path), to, name);
    if (nearest !== undefined && isSame(lock.packages[copies.get(nearest)], entry)) return;
    const target = `${nearest === undefined || to === "" ? "" : `${to}/`}node_modules/${name}`;
    if (copies.has(target)) throw new Error(`two versions of ${name} are wanted: ${copies.get(target)} and ${source}`);
    copies.set(target, source);
    queue.push({ from: source, to: target });
  }

  function nameExternal(name, entry, isOptional) {
    const spec = specOf(name, entry);
    const known = external.get(name);
    if (known !== undefined && known.spec !== spec)
      throw new Error(`two versions of ${name} are wanted: ${known.spec} and ${spec}`);
    external.set(name, { spec, isOptional: isOptional && known?.isOptional !== false });
  }
}

/** What npm calls this package and version; it may be installed under another name. */
export function specOf(name, entry) {
  return entry.name === undefined || entry.name === name ? entry.version : `npm:${entry.name}@${entry.version}`;
}

/** The first folder, from the inside out, in which Node.js would find the package. */
function lookUp(exists, from, name) {
  for (let at = from; ; at = parentOf(at)) {
    const candidate = `${at === "" ? "" : `${at}/`}node_modules/${name}`;
    if (exists(candidate)) return candidate;
    if (at === "") return undefined;
  }
}

function parentOf(path) {
  const end = path.lastIndexOf("/node_modules/");
  return end < 0 ? "" : path.slice(0, end);
}

/** It is for some platforms only, builds something when it is installed, or chooses among packages that are for some platforms. */
function isNative(entry) {
  return entry.hasInstallScript === true || entry.os !== undefined || Object.keys(entry.optionalDependencies ?? {}).length > 0;
}

function isSame(a, b) {
  return a.version === b.version && a.name === b.name && a.integrity === b.integrity;
}
