import { readFileSync } from "node:fs";

/** `v` and the version of a package. @param moduleUrl of a module right below its `src` or `dist`: `import.meta.url` */
export function versionOf(moduleUrl: string): string {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", moduleUrl), "utf8")) as { version: string };
  return `v${manifest.version}`;
}
