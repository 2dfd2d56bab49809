import { type RpcClient, RpcError } from "@rnode/jsonrpc";
import { toQuantity } from "@rnode/primitives";
import { type RollupConfig, rollupConfigFromJson } from "@rnode/protocol";
import { type Output, outputFromJson } from "./output.ts";
import { readAnswer } from "./rollup-client-error.ts";
import { type SyncStatus, syncStatusFromJson } from "./sync-status.ts";

const METHOD_NOT_FOUND = -32601;

/** Client of a rollup node of this project, or of one that has upstream's namespace only. Every method rejects if there is no answer. */
export class RpcRollupNode {
  readonly name: string;
  readonly #rpc: RpcClient;
  #namespace: "rnode" | "optimism";

  /** @param namespace the one to try first: a node that has not got it costs one request more */
  constructor(rpc: RpcClient, namespace: "rnode" | "optimism" = "rnode") {
    this.name = rpc.endpoint;
    this.#rpc = rpc;
    this.#namespace = namespace;
  }

  async syncStatus(): Promise<SyncStatus> {
    const answer = await this.#call("syncStatus");
    return readAnswer("syncStatus", () => syncStatusFromJson(answer));
  }

  async rollupConfig(): Promise<RollupConfig> {
    const answer = await this.#call("rollupConfig");
    return readAnswer("rollupConfig", () => rollupConfigFromJson(answer, { unknownKeys: "ignore" }));
  }

  /** The output root of a block, with its parts: only upstream's form of the method has them, and all nodes know it. */
  async outputAtBlock(number: number): Promise<Output> {
    const answer = await this.#rpc.call("optimism_outputAtBlock", [toQuantity(number)]);
    return readAnswer("optimism_outputAtBlock", () => outputFromJson(answer, number));
  }

  /** Whether its sequencer is making blocks; needs the node's admin namespace. */
  async isSequencing(): Promise<boolean> {
    return (await this.#rpc.call("admin_sequencerActive")) === true;
  }

  async #call(method: string): Promise<unknown> {
    try {
      return await this.#rpc.call(`${this.#namespace}_${method}`);
    } catch (error) {
      if (!(error instanceof RpcError && error.code === METHOD_NOT_FOUND)) throw error;
      const other = this.#namespace === "rnode" ? "optimism" : "rnode";
      const answer = await this.#rpc.call(`${other}_${method}`);
      this.#namespace = other;
      return answer;
    }
  }
}
