import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A request and the answer that the suite recorded. */
interface RpcExchange {
  readonly request: RpcRequest;
  readonly expected: RpcResponse;
}

interface RpcRequest {
  readonly method: string;
  readonly params?: unknown;
}

/** The whole envelope: `jsonrpc` and `id` are compared too. */
export type RpcResponse = Readonly<Record<string, unknown>>;

/** One `.io` file: its exchanges in order, on one client. */
export interface RpcTest {
  /** path below the folder, without `.io` */
  readonly name: string;
  /** answers depend on the client, so only their shape is checked */
  readonly isSpecOnly: boolean;
  readonly exchanges: readonly RpcExchange[];
}

/** All `.io` files below a folder in the order of their paths, in which they must run. @throws Error that names file and line */
export function readRpcTests(folder: string): RpcTest[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".io"))
    .sort()
    .map((name) => parseRpcTest(name.slice(0, -".io".length), readFileSync(join(folder, name), "utf8")));
}

/**
 * Parses the lines of an `.io` file. `// …` describes the test (`// speconly: …` before the first request: see `isSpecOnly`), `>>
 * JSON` is a request, `<< JSON` the answer to the preceding one.
 *
 * @throws Error that names the file and the line
 */
export function parseRpcTest(name: string, text: string): RpcTest {
  const exchanges: RpcExchange[] = [];
  let isSpecOnly = false;
  let request: RpcRequest | undefined;
  for (const [index, untrimmed] of text.split("\n").entries()) {
    const line = untrimmed.trim();
    const fault = (what: string): Error => new Error(`${name}.io, line ${index + 1}: ${what}`);
    const json = (): unknown => {
      try {
        return JSON.parse(line.slice(2));
      } catch {
        throw fault("not JSON");
      }
    };
    if (line === "") continue;
    if (line.startsWith("//")) {
      if (exchanges.length === 0 && request === undefined) isSpecOnly ||= /^\/\/ ?speconly:/.test(line);
    } else if (line.startsWith(">>")) {
      if (request !== undefined) throw fault("a request before the answer to the one before");
      request = json() as RpcRequest;
    } else if (line.startsWith("<<")) {
      if (request === undefined) throw fault("an answer without a request");
      exchanges.push({ request, expected: json() as RpcResponse });
      request = undefined;
    } else throw fault("neither comment, request nor answer");
  }
  if (request !== undefined) throw new Error(`${name}.io: the last request has no answer`);
  if (exchanges.length === 0) throw new Error(`${name}.io: no request`);
  return { name, isSpecOnly, exchanges };
}
