// docs/METRICS.md lists every metric that the programs export, and nothing else; `--write` writes it. The Grafana dashboards and
// the alert rules next to them use only exported metrics.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { metricsOf, OF_PROCESS, PROGRAMS, unlistedFiles } from "./lib/metric-names.mjs";
import { ROOT } from "./lib/stamp.mjs";

const PAGE = join(ROOT, "docs", "METRICS.md");
const DASHBOARDS = ["grafana-dashboard.json", "grafana-fleet.json"];
const ALERTS = join(ROOT, "docs", "monitoring", "alerts.yml");
const WORDS = /\b(?:by|without|on|ignoring|group_left|group_right|and|or|unless|bool|offset)\b/;

const problems = unlistedFiles().map((file) => `${file} declares metrics: add it to a program in scripts/lib/metric-names.mjs`);
const programs = await Promise.all(PROGRAMS.map(async (program) => ({ ...program, metrics: await metricsOf(program) })));

const cell = (text) => text.replaceAll("|", "\\|").replace(/\s+/g, " ");
const row = (cells) => `| ${cells.map(cell).join(" | ")} |`;
const table = (head, rows) => [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
const page = [
  "# Metrics",
  "Written by `node scripts/check-metrics.mjs --write` from the declarations in the code; `npm run check` compares.",
  "`--metrics.enabled` serves them at `/metrics` of `--metrics.addr` and `--metrics.port`, beside `/healthz` and `/readyz`, which answer 503 with reasons. " +
    "Where dashboards for op-node, op-batcher, Geth or Reth know a metric under another name, it is exported under that one, too (last column). " +
    "Histograms have `_bucket`, `_sum` and `_count`. Grafana dashboards and alert rules for Prometheus are in `docs/monitoring/`.",
  ...programs.flatMap(({ name, metrics }) => [
    `## ${name}`,
    table(
      ["Metric", "Type", "Meaning", "Also as"],
      metrics.map((metric) => [
        `\`${metric.name}\``,
        metric.kind,
        metric.help,
        metric.aliases.map((alias) => `\`${alias}\``).join(", "),
      ]),
    ),
  ]),
  "## Every process",
  table(
    ["Metric", "Meaning"],
    Object.entries(OF_PROCESS).map(([name, meaning]) => [`\`${name}\``, meaning]),
  ),
].join("\n\n");

if (process.argv.includes("--write")) writeFileSync(PAGE, `${page}\n`);
else if (readFileSync(PAGE, "utf8") !== `${page}\n`)
  problems.push("docs/METRICS.md is out of date: node scripts/check-metrics.mjs --write");

const exported = new Set(Object.keys(OF_PROCESS));
for (const suffix of ["_bucket", "_sum", "_count"]) exported.add(`nodejs_gc_duration_seconds${suffix}`);
for (const { metrics } of programs) {
  for (const { name, kind, aliases } of metrics) {
    for (const known of [name, ...aliases]) {
      const suffixes = kind === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
      for (const suffix of suffixes) exported.add(known + suffix);
    }
  }
}

/** The metrics that an expression of PromQL names. */
function namesIn(expression) {
  const plain = expression
    .replace(/"[^"]*"/g, "")
    .replace(/\{[^}]*\}/g, "")
    .replace(/\[[^\]]*\]/g, "")
    .replace(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, "");
  return [...plain.matchAll(/(?<![\w$.])([a-z_]\w*)(?!\w)(?!\s*\()/gi)].map(([, name]) => name).filter((name) => !WORDS.test(name));
}

function checkExpression(where, expression) {
  const names = namesIn(expression);
  if (names.length === 0) problems.push(`${where}: "${expression}" names no metric`);
  for (const name of names) {
    // `up` is Prometheus's own: whether it could collect
    if (name !== "up" && !exported.has(name)) problems.push(`${where}: no program exports ${name}`);
  }
}

const targetsOf = (panel) => [...(panel.targets ?? []), ...(panel.panels ?? []).flatMap(targetsOf)];
for (const file of DASHBOARDS) {
  const { panels } = JSON.parse(readFileSync(join(ROOT, "docs", "monitoring", file), "utf8"));
  for (const panel of panels) {
    for (const { expr } of targetsOf(panel)) checkExpression(`${file}, "${panel.title}"`, expr);
  }
}
for (const { rules } of parse(readFileSync(ALERTS, "utf8")).groups) {
  for (const { alert, expr, annotations } of rules) {
    checkExpression(`alerts.yml, ${alert}`, expr);
    if (!annotations?.summary || !annotations?.description) problems.push(`alerts.yml, ${alert}: has no summary or description`);
  }
}

if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
