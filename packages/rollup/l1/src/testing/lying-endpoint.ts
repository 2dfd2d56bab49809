import type { RpcOutcome } from "@rnode/jsonrpc";
import type { L1Rpc } from "../endpoints/endpoint.ts";

export interface Exchange {
  readonly question: string;
  readonly answer: unknown;
}

/** Passes on an honest endpoint's answers, except for one request that it answers falsely while configured to. */
export class LyingEndpoint implements L1Rpc {
  readonly connectionsLost = 0;
  /** requests and answers */
  readonly exchanges: Exchange[] = [];
  lie: Exchange | undefined;
  readonly #honest: L1Rpc;

  constructor(honest: L1Rpc) {
    this.#honest = honest;
  }

  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    const question = `${method} ${JSON.stringify(params)}`;
    const answer = this.lie?.question === question ? this.lie.answer : await this.#honest.call(method, params);
    this.exchanges.push({ question, answer });
    return answer;
  }

  batch(calls: readonly { readonly method: string; readonly params: readonly unknown[] }[]): Promise<readonly RpcOutcome[]> {
    return Promise.all(
      calls.map(async ({ method, params }) => ({ kind: "result", result: await this.call(method, params) }) as const),
    );
  }
}
