// Checks the guides against the programs: every option in them exists, and the page of errors has each error text that users can
// see, and no other. Part of `npm run check`.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { errorSentences } from "./lib/error-sentences.mjs";
import { filesBelow, ROOT } from "./lib/stamp.mjs";
import { packageFiles } from "./lib/workspace.mjs";

/** Of subcommands, the devnet, and programs of others. */
const OTHER_OPTIONS = new Set(
  "--help --version --explain --from --to --json --depth --rpc-url --nonce --system --now --rm --semi-supernode --supernode --fresh --auto-compaction-mode --auto-compaction-retention --enable-grpc-gateway --genesis-hash --rpc --block-hash --output-root --trust-snapshot --blocks --block --max-size --history --set.datadir --chains --upgrades-dir --nodes --format --tables --blocks-per-file --rewind --nats.url --nats.subject --nats.stream --head --every --keep --signing-key --set --profile".split(
    " ",
  ),
);
/** `rnode set`: the chain that an option is of. */
const CHAIN = /^--(?:op|unichain)-sepolia\./;
const OPTION = /(?<![\w-])(--[a-z][\w.-]*\w)(?![\w.]*…)/g;
const ERRORS_PAGE = "docs/guide/errors.md";

const problems = [...unknownOptions(), ...differingErrors()];
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}

function* unknownOptions() {
  const known = new Set(OTHER_OPTIONS);
  for (const path of packageFiles()) {
    if (!path.endsWith("/OPTIONS.md")) continue;
    for (const [, name] of readFileSync(path, "utf8").matchAll(/^\| `(--[\w.-]+)`/gm)) known.add(name);
  }
  for (const path of [...filesBelow(join(ROOT, "docs", "guide")), ...filesBelow(join(ROOT, "docs", "migrate"))]) {
    const isMigration = path.includes("migrate");
    for (const line of readFileSync(path, "utf8").split("\n")) {
      // A row of the pages on migration has their options first, ours second.
      const ours = !isMigration ? line : line.startsWith("|") ? (line.split(/(?<!\\)\|/)[2] ?? "") : "";
      for (const [, name] of ours.matchAll(OPTION)) {
        if (!known.has(name.replace(CHAIN, "--"))) yield `${relative(ROOT, path)} names ${name}, which no program has`;
      }
    }
  }
}

function* differingErrors() {
  const page = readFileSync(join(ROOT, ERRORS_PAGE), "utf8");
  const sentences = errorSentences();
  for (const [code, sentence] of sentences) {
    if (!page.includes(`| \`${sentence}\``)) yield `${ERRORS_PAGE} lacks the sentence of ${code}: ${sentence}`;
  }
  const said = new Set(sentences.values());
  for (const [, written] of page.matchAll(/^\| `([^`…]*\{[^`…]*)`/gm)) {
    if (!said.has(written)) yield `${ERRORS_PAGE} has a sentence that nothing says: ${written}`;
  }
}
