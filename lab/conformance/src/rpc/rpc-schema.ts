import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Result schemas of the methods of ethereum/execution-apis. */
export interface ExecutionApis {
  /** methods that have a schema */
  readonly methods: ReadonlySet<string>;
  /** @returns where a result violates the method's schema; `undefined`: it is valid. @throws Error if the method is unknown */
  faultOf(method: string, result: unknown): string | undefined;
}

/** The parts of the sources that are read: a file contains a list of methods, or schemas by name. */
interface MethodSource {
  readonly name: string;
  readonly result?: { readonly schema?: object };
}

const COMPONENTS = "#/components/schemas/";
const DOCUMENT_ID = "execution-apis";

/**
 * Reads the YAML sources of ethereum/execution-apis (`src/` of a checkout) into one JSON Schema document, in whose `$defs`
 * references are resolved.
 *
 * The parsers are development dependencies and only loaded here.
 *
 * @throws Error if the folder is not such a checkout
 */
export async function readExecutionApis(folder: string): Promise<ExecutionApis> {
  const [{ parse }, { Ajv2019 }] = await Promise.all([import("yaml"), import("ajv/dist/2019.js")]);
  const sources = join(folder, "src");
  const schemas: Record<string, unknown> = {};
  const results = new Map<string, object>();
  for (const name of readdirSync(sources, { recursive: true, encoding: "utf8" }).sort()) {
    if (!name.endsWith(".yaml") || name.startsWith("error-groups")) continue;
    const content = parse(readFileSync(join(sources, name), "utf8")) as MethodSource[] | Record<string, unknown>;
    if (!Array.isArray(content)) Object.assign(schemas, content);
    else for (const { name: method, result } of content) if (result?.schema !== undefined) results.set(method, result.schema);
  }
  if (results.size === 0) throw new Error(`${sources}: no methods`);
  const ajv = new Ajv2019({ strict: false, allErrors: false });
  const properties = Object.fromEntries(results);
  ajv.addSchema(withLocalReferences({ $id: DOCUMENT_ID, $defs: { ...schemas, results: { $defs: properties } } }) as object);
  return {
    methods: new Set(results.keys()),
    faultOf(method, result) {
      const validate = ajv.getSchema(`${DOCUMENT_ID}#/$defs/results/$defs/${method}`);
      if (validate === undefined) throw new Error(`${method}: not in ${folder}`);
      if (validate(result) === true) return undefined;
      return ajv.errorsText(validate.errors?.slice(0, 3), { dataVar: "result" });
    },
  };
}

function withLocalReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withLocalReferences);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) =>
      name === "$ref" && typeof field === "string" && field.startsWith(COMPONENTS)
        ? [name, `#/$defs/${field.slice(COMPONENTS.length)}`]
        : [name, withLocalReferences(field)],
    ),
  );
}
