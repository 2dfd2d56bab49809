import { basename } from "node:path";
import { executeStateless, newEngine, parseBlockFile } from "@rnode/chain";
import { jsonFilesBelow, readJsonFile, reportOf, resultOf, type SuiteReport } from "../vectors.ts";

/** Real blocks with their witnesses (docs/stateless-block.md): the results must equal the file's expected ones. */
export function runStatelessTests(folder: string): SuiteReport {
  const engine = newEngine();
  return reportOf(
    jsonFilesBelow(folder).map((path) =>
      resultOf(basename(path), () => {
        const file = parseBlockFile(readJsonFile(path));
        if (file.expected.blockHash === undefined) return "the file has no expectedBlockHash";
        const { mismatches } = executeStateless(file, { engine });
        const [first] = mismatches;
        return first && `${first.field}: expected ${first.expected}, computed ${first.computed} (${mismatches.length} differ)`;
      }),
    ),
  );
}
