// Builds the dashboard's page from src/page into build/page: static files that need nothing from outside.
import { fileURLToPath } from "node:url";
import { build } from "vite";

await build({
  configFile: false,
  logLevel: "warn",
  root: fileURLToPath(new URL("../src/page/", import.meta.url)),
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: fileURLToPath(new URL("../build/page/", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
