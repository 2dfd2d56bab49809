import { Agent, request } from "node:http";
import { tagOfFilterId } from "@rnode/eth-api";
import type { RpcErrorBody } from "@rnode/jsonrpc";

/** A kept-alive connection to a public listener. All its requests go to one reader. */
export interface Connection {
  /** @throws Error with the `code` of a JSON-RPC error, or of a socket error */
  readonly call: <T = unknown>(method: string, params?: readonly unknown[]) => Promise<T>;
  /** number of the reader, from 0 */
  readonly reader: number;
  close(): void;
}

export async function connect(url: string): Promise<Connection> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const call = async <T>(method: string, params: readonly unknown[] = []): Promise<T> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const { result, error } = JSON.parse(await post(url, agent, body)) as { result?: T; error?: RpcErrorBody };
    if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code });
    return result as T;
  };
  // The id of a filter reveals which reader keeps it: the one that received the request.
  const filter = await call<string>("eth_newBlockFilter");
  await call("eth_uninstallFilter", [filter]);
  return { call, reader: tagOfFilterId(filter) ?? -1, close: () => agent.destroy() };
}

/** Opens `perReader` connections to each of `count` readers. The result is ordered by reader. */
export async function connectToEach(url: string, count: number, perReader = 1): Promise<Connection[][]> {
  const found: Connection[][] = Array.from({ length: count }, () => []);
  const isComplete = (): boolean => found.every(({ length }) => length === perReader);
  for (let tries = 0; tries < 500 && !isComplete(); tries++) {
    const connection = await connect(url);
    const list = found[connection.reader];
    if (list !== undefined && list.length < perReader) list.push(connection);
    else connection.close();
  }
  if (!isComplete()) throw new Error(`connections by reader: ${found.map(({ length }) => length).join(", ")}`);
  return found;
}

function post(url: string, agent: Agent, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve(text));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
