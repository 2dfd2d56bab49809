import type { RpcClient } from "@rnode/jsonrpc";
import { toQuantity } from "@rnode/primitives";
import { readAnswer } from "./rollup-client-error.ts";
import { type SuperRootAnswer, superRootAnswerFromJson } from "./super-root-answer.ts";

const METHOD = "superroot_atTimestamp";

/** Client of a rollup node (a set of one chain) or of a verifier of several chains, which serve super roots alike. */
export class RpcSuperRootSource {
  readonly name: string;
  readonly #rpc: RpcClient;

  constructor(rpc: RpcClient) {
    this.name = rpc.endpoint;
    this.#rpc = rpc;
  }

  /** @param timestampSec L2 time. Rejects if there is no answer, or one whose super root does not follow from its parts. */
  async atTimestamp(timestampSec: number): Promise<SuperRootAnswer> {
    const answer = await this.#rpc.call(METHOD, [toQuantity(timestampSec)]);
    return readAnswer(METHOD, () => superRootAnswerFromJson(answer, timestampSec));
  }
}
