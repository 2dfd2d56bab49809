// Builds the page from src/page into build/page: static files that need nothing from outside.
import { fileURLToPath } from "node:url";
import { build } from "vite";

// From the packages' sources, so that the page can be built before them.
const conditions = ["rnode-source", "module", "browser", "production", "import", "default"];
/** Native code for signatures: where a platform has none, as here, @rnode/primitives takes its WebAssembly. */
const NATIVE = "secp256k1/bindings.js";
const NO_NATIVE = "\0no-native-code";
/** The node's code must run unchanged, so the bundle must not contain anything that browsers lack. */
const refuseNode = {
  name: "refuse-node-modules",
  enforce: "pre",
  resolveId(source, importer) {
    if (source === NATIVE) return NO_NATIVE;
    if (source.startsWith("node:")) throw new Error(`${importer} imports ${source}, which no browser has`);
    return undefined;
  },
  load: (id) => (id === NO_NATIVE ? 'throw new Error("a browser has no native code");\nexport default undefined;' : undefined),
};

await build({
  configFile: false,
  logLevel: "warn",
  root: fileURLToPath(new URL("../src/page/", import.meta.url)),
  base: "./",
  resolve: { conditions },
  plugins: [refuseNode],
  worker: { format: "es", plugins: () => [refuseNode] },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: fileURLToPath(new URL("../build/page/", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
  },
});
