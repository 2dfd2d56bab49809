import { conditionalToJson } from "@rnode/eth-api";
import { createRpcClient, RpcError, RpcTransportError, SERVER_ERROR } from "@rnode/jsonrpc";
import { errorText, type Logger } from "@rnode/observe";
import { bytesToHex, toQuantity } from "@rnode/primitives";
import type { Forwarder } from "./pool-service.ts";

export interface SequencerForwarder extends Forwarder {
  /** Checks whether the endpoint responds and is on our chain, and logs the result. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

/** @param url the sequencer's public RPC endpoint */
export function createSequencerForwarder(url: string, chainId: bigint, log: Logger): SequencerForwarder {
  const client = createRpcClient({ url, timeoutMs: 5000, maxConcurrency: 64 });
  async function forward(method: string, params: readonly unknown[]): Promise<void> {
    try {
      await client.call(method, params);
    } catch (error) {
      if (error instanceof RpcError) throw error; // passed on unchanged: code, message and data
      if (!(error instanceof RpcTransportError)) throw error;
      log.warn("sequencer not reached", { endpoint: client.endpoint, err: error });
      throw new RpcError(SERVER_ERROR, `failed to forward the transaction to the sequencer: ${error.code}`);
    }
  }
  return {
    send: (raw) => forward("eth_sendRawTransaction", [bytesToHex(raw)]),
    sendConditional: (raw, conditional) =>
      forward("eth_sendRawTransactionConditional", [bytesToHex(raw), conditionalToJson(conditional)]),
    async probe() {
      try {
        const answered = await client.call("eth_chainId");
        if (answered === toQuantity(chainId)) log.info("sequencer endpoint answers", { endpoint: client.endpoint });
        else
          log.error("sequencer endpoint is on another chain", {
            endpoint: client.endpoint,
            answered,
            expected: toQuantity(chainId),
          });
      } catch (error) {
        log.warn("sequencer endpoint does not answer: transactions cannot be forwarded", {
          endpoint: client.endpoint,
          reason: errorText(error),
        });
      }
    },
    close: () => client.close(),
  };
}
