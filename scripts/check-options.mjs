// Every option that a program accepts is read by something. The sources of each program are compiled with parsed options of which some
// are left out, or have values of a type that nothing can use: the compiler names those that are used.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fingerprint, isStampCurrent, ROOT, writeStamp } from "./lib/stamp.mjs";
import { folderOf, workspacePackages } from "./lib/workspace.mjs";

/** Each package with the module that has its option groups: those of `program` are in the tables of the others. */
const PROGRAMS = [
  ["program", "options/standard-options.js"],
  ["rengine", "options.js"],
  ["rnode", "options.js"],
  ["rbatcher", "options.js"],
  ["rproposer", "options.js"],
  ["rconductor", "options.js"],
  ["devnet", "options.js"],
];
/** Packages with option groups that are in the tables of several programs: compiled with each of them, as their declarations lack names. */
const WITH_GROUPS = ["tx-manager", "signer", "alt-da", "dashboard"];

const OTHERS = workspacePackages().filter(
  ({ manifest: { name } }) => ![...WITH_GROUPS, "program"].includes(name.slice("@rnode/".length)),
);

const current = fingerprint(["packages", "programs", "scripts/check-options.mjs"]);
if (isStampCurrent("check-options", current)) process.exit();

mkdirSync(join(ROOT, "build"), { recursive: true });
const folder = mkdtempSync(join(ROOT, "build", "check-options-")); // below node_modules of the repository
/** `program` as the others see it, and its own sources: both get other declarations of option groups. */
const skeleton = join(ROOT, folderOf("program"));
cpSync(join(skeleton, "dist"), join(folder, "dist"), { recursive: true, filter: (path) => !/\.(?:js|map)$/.test(path) });
cpSync(join(skeleton, "src"), join(folder, "src"), { recursive: true, filter: (path) => !path.includes(".test.") });
const declarations = join(folder, "dist", "options", "option-group.d.ts");

/** The declarations of option groups, in whose types each group has its name. */
const withNames = [
  [
    /interface OptionGroup<D extends Declarations = Declarations>/,
    "interface OptionGroup<D extends Declarations = Declarations, N extends string = string>",
  ],
  [/readonly name: string;(\s+readonly declarations: D;)/, "readonly name: N;$1"],
  [
    /function optionGroup<const D extends Declarations>\(name: string,/,
    "function optionGroup<const N extends string, const D extends Declarations>(name: N,",
  ],
  [/\}\): OptionGroup<D>;/, "}): OptionGroup<D, N>;"],
].reduce(
  (text, [pattern, replacement]) => {
    if (!pattern.test(text))
      throw new Error(`packages/kit/program/src/options/option-group.ts has changed: ${pattern} is not in its declarations`);
    return text.replace(pattern, replacement);
  },
  readFileSync(declarations, "utf8"),
);
const OPTIONS_OF = /export type OptionsOf<[\s\S]*?\n\};\n/;
const VALUE =
  'G["declarations"][K] extends { readonly default: unknown } | { readonly required: true } ? ParsedBy<G["declarations"][K]> : ParsedBy<G["declarations"][K]> | undefined';
// biome-ignore lint/suspicious/noTemplateCurlyInString: a template in the text of a type
const NAME = '`${G["name"]}.${K & string}`';
const unionOf = (names) => [...names].map((name) => JSON.stringify(name)).join(" | ") || "never";

/** The options `names` have values that nothing can use. */
const marked = (names) => `
export declare class OptionMark<Name> { private constructor(); private readonly mark: Name; }
export type OptionsOf<G extends OptionGroup> = { readonly [K in keyof G["declarations"]]: ${NAME} extends ${unionOf(names)} ? OptionMark<${NAME}> : ${VALUE} };
`;
/** The options `names` are not there. */
const without = (names) => `
export type OptionsOf<G extends OptionGroup> = { readonly [K in keyof G["declarations"] as ${NAME} extends ${unionOf(names)} ? never : K]: ${VALUE} };
`;

/** @returns the compiler's errors */
function compile(program, optionsOf) {
  const text = withNames.replace(OPTIONS_OF, optionsOf);
  writeFileSync(declarations, text);
  writeFileSync(join(folder, "src", "options", "option-group.ts"), text);
  const source = join(ROOT, folderOf(program));
  const sources = program === "program" ? join(folder, "src") : join(source, "src");
  const compilerOptions = {
    rootDir: "/",
    composite: false,
    noEmit: true,
    declaration: false,
    declarationMap: false,
    tsBuildInfoFile: null,
    allowImportingTsExtensions: true,
    rewriteRelativeImportExtensions: false,
    typeRoots: [join(ROOT, "node_modules", "@types")],
    paths: {
      "@rnode/program": [join(folder, "dist", "index.d.ts")],
      ...Object.fromEntries(WITH_GROUPS.map((name) => [`@rnode/${name}`, [join(ROOT, folderOf(name), "src", "index.ts")]])),
      ...Object.fromEntries(OTHERS.map(({ folder, manifest }) => [manifest.name, [join(ROOT, folder, "dist", "index.d.ts")]])),
    },
  };
  const config = {
    extends: join(source, "tsconfig.json"),
    compilerOptions,
    include: [join(sources, "**", "*.ts")],
    exclude: ["test", "fuzz", "bench"].map((kind) => join(sources, "**", `*.${kind}.ts`)).concat(join(sources, "testing")),
    references: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  const { stdout, error } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (error !== undefined) throw error;
  return stdout;
}

/** The options that something reads. */
function readOf(program, names) {
  const read = new Set();
  const open = () => names.filter((name) => !read.has(name));
  /** The compiler names a few of the things that are wrong with an object, so it is asked until it names none that are new. */
  const askUntilNothingNew = (change, namesIn) => {
    for (let before = -1; open().length > 0 && before !== read.size; ) {
      before = read.size;
      for (const name of namesIn(compile(program, change(open())))) read.add(name);
    }
  };
  askUntilNothingNew(without, (errors) => {
    const keys = [...errors.matchAll(/Property '(\w+)' (?:does not exist|is missing)/g)].map(([, key]) => key);
    for (const [, list] of errors.matchAll(/missing the following properties from type .*?: ([\w, ]+)/g))
      keys.push(...list.split(", "));
    return keys.flatMap((key) => {
      const named = names.filter((name) => name.endsWith(`.${key}`));
      return named.length === 1 ? named : [];
    });
  });
  askUntilNothingNew(marked, (errors) =>
    [...errors.matchAll(/'OptionMark<"([^"]+)">(?: \| undefined)?'/g)].map(([, name]) => name),
  );
  for (const name of open()) if (compile(program, without([name])) !== "") read.add(name);
  return read;
}

/** The names of a table's options. */
function acceptedIn(table, resolveOptions) {
  const options = resolveOptions(table).filter(
    ({ fileOf, declaration }) => fileOf === undefined && declaration.noEffect === undefined,
  );
  return options.map(({ group, key }) => `${table.groups[group].name}.${key}`);
}

const built = (name, file) => import(join(ROOT, folderOf(name), "dist", file));
const { resolveOptions } = await built("program", "index.js");
const problems = [];
const shared = new Set();
for (const [program, file] of PROGRAMS) {
  const exported = Object.values(await built(program, file)).filter((value) => typeof value === "object" && value !== null);
  const groups = exported.filter((value) => "declarations" in value);
  const table = exported.find((value) => "groups" in value) ?? { envPrefix: "", groups };
  if (compile(program, marked([])) !== "") throw new Error(`${program} does not compile even without a change`);
  const accepted = acceptedIn(table, resolveOptions).filter((name) => !shared.has(name));
  const read = readOf(program, accepted);
  for (const name of accepted)
    if (!read.has(name)) problems.push(`${folderOf(program)}: nothing reads the option ${name.replace(/^\./, "")}`);
  if (program === "program") for (const name of accepted) shared.add(name);
}
rmSync(folder, { recursive: true });
if (problems.length > 0) {
  console.error(`${problems.join("\n")}\n(scripts/check-options.mjs)`);
  process.exit(1);
}
writeStamp("check-options", current);
