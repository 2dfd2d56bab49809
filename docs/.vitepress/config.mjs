// The pages of the repository as a site: those in docs/, the packages' READMEs, options, metrics, and what lies at the root.
import { dirname, posix } from "node:path";
import { defineConfig } from "vitepress";

const isPage = (path) => path.endsWith(".md") || path.endsWith("/") || path === "";

export default defineConfig({
  title: "rnode",
  description: "An optimistic rollup stack in TypeScript",
  srcDir: "build/pages", // as scripts/docs.mjs collects them
  outDir: "../build/docs",
  cacheDir: "node_modules/.cache/vitepress",
  lastUpdated: false,
  markdown: { html: false, config: withoutSourceLinks },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Run a node", link: "/docs/guide/verifier" },
      { text: "Options", link: "/programs/rnode/OPTIONS" },
      { text: "Architecture", link: "/ARCHITECTURE" },
    ],
    sidebar: [
      {
        text: "Guides",
        items: [
          { text: "Overview", link: "/README" },
          { text: "A verifier on a named network", link: "/docs/guide/verifier" },
          { text: "Snapshots", link: "/docs/guide/snapshots" },
          { text: "A chain of your own", link: "/docs/guide/own-chain" },
          { text: "The devnet", link: "/programs/devnet/README" },
          { text: "A development chain: rengine --dev", link: "/docs/dev-chain" },
          { text: "Containers and systemd", link: "/docs/guide/deployment" },
          { text: "A fleet on Kubernetes", link: "/docs/guide/kubernetes" },
          { text: "Several sequencers", link: "/docs/guide/failover" },
          { text: "A fleet behind a balancer", link: "/docs/guide/fleet" },
          { text: "Subblocks", link: "/docs/guide/subblocks" },
          { text: "What neighbours can do", link: "/docs/guide/neighbours" },
          { text: "Interop (experimental)", link: "/docs/guide/interop" },
          { text: "Errors and what to do", link: "/docs/guide/errors" },
        ],
      },
      {
        text: "Coming from",
        items: [
          { text: "op-node", link: "/docs/migrate/op-node" },
          { text: "op-geth", link: "/docs/migrate/op-geth" },
          { text: "op-reth", link: "/docs/migrate/op-reth" },
          { text: "op-batcher", link: "/docs/migrate/op-batcher" },
          { text: "op-conductor", link: "/docs/migrate/op-conductor" },
        ],
      },
      {
        text: "Reference",
        items: [
          { text: "Options of rnode", link: "/programs/rnode/OPTIONS" },
          { text: "Options of rengine", link: "/programs/rengine/OPTIONS" },
          { text: "Options of rbatcher", link: "/programs/rbatcher/OPTIONS" },
          { text: "Options of rproposer", link: "/programs/rproposer/OPTIONS" },
          { text: "Options of rconductor", link: "/programs/rconductor/OPTIONS" },
          { text: "Metrics", link: "/docs/METRICS" },
          { text: "The two faces of rengine", link: "/docs/faces" },
          { text: "Changelog", link: "/CHANGELOG" },
        ],
      },
      {
        text: "Protocol notes",
        collapsed: true,
        items: [
          { text: "About them", link: "/docs/protocol/README" },
          { text: "Execution", link: "/docs/protocol/01-execution" },
          { text: "Derivation", link: "/docs/protocol/02-derivation" },
          { text: "Peer to peer", link: "/docs/protocol/03-p2p" },
          { text: "JSON-RPC", link: "/docs/protocol/04-rpc" },
          { text: "Services", link: "/docs/protocol/05-services" },
          { text: "Test facts", link: "/docs/protocol/06-testing" },
          { text: "Flashblocks", link: "/docs/protocol/07-flashblocks" },
        ],
      },
      {
        text: "The code",
        collapsed: true,
        items: [
          { text: "Architecture", link: "/ARCHITECTURE" },
          { text: "Decisions", link: "/docs/decisions/README" },
          { text: "Contributing", link: "/CONTRIBUTING" },
          { text: "Measured speed", link: "/lab/bench/README" },
        ],
      },
    ],
  },
});

/** Links to files that are no pages (sources, folders) stay text: the site does not have them. `npm run check` follows them in the repository. */
function withoutSourceLinks(markdown) {
  markdown.core.ruler.push("source-links", ({ tokens, env }) => {
    for (const { children } of tokens) {
      let hidden = false;
      for (const token of children ?? []) {
        if (token.type === "link_open") {
          const target = (token.attrGet("href") ?? "").replace(/#.*$/, "");
          hidden = !/^[a-z]+:/.test(target) && !isPage(posix.join(dirname(env.relativePath ?? ""), target));
          if (hidden) token.hidden = true;
        } else if (token.type === "link_close" && hidden) {
          token.hidden = true;
          hidden = false;
        }
        if (token.hidden) Object.assign(token, { type: "text", content: "", tag: "", nesting: 0 });
      }
    }
  });
}
