import { type HealthReport, type MethodTable, method, type Probe, param, textShape } from "@rnode/jsonrpc";
import { requestText, resultOf } from "./routing.ts";

/** A method between our own processes, which no listener serves. */
const NAME = "rengine_readyz";

/** `GET /readyz` for the readers, which the writer answers: it knows what the client waits for. */
export const readyzMethod = (readyz: Probe): MethodTable => ({
  [NAME]: method({ params: [param("query", textShape)], handler: ([query]) => readyz(new URLSearchParams(query)) }),
});

/** @param ask the writer */
export const readyzOfWriter =
  (ask: (text: string) => Promise<string>): Probe =>
  async (query) =>
    JSON.parse(resultOf(await ask(requestText(NAME, [query.toString()]))).text) as HealthReport;
