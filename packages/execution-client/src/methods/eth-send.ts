import { dataShape, type MethodTable, method, param } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import type { RpcServices } from "./services.ts";

export function ethSendMethods({ pool }: RpcServices): MethodTable {
  return {
    eth_sendRawTransaction: method({
      params: [param("transaction", dataShape)],
      summary: "Takes in a signed transaction, or forwards it to the sequencer; the answer is its hash.",
      handler: async ([raw]) => bytesToHex(await pool.submit(raw)),
    }),
  };
}
