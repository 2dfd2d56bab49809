import { readFileSync } from "node:fs";

const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };

/** `v` and the package's version. */
export const VERSION = `v${manifest.version}`;
