import { addressShape, anyJson, dataShape, optionalParam, param, rpcErrorOf } from "@rnode/jsonrpc";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

/** Methods that need a private key; this client has none. */
export function ethAccountMethods({ backend }: ReadServices): ApiMethods {
  const refuse = (what: string) => (): never => {
    const reason = `this node holds no keys and does not ${what}; sign in a wallet and use eth_sendRawTransaction`;
    throw rpcErrorOf(backend.profile.errors.unknownAccount(reason));
  };
  return {
    eth_accounts: method({
      runs: "reader",
      cost: "cheap",
      result: results.accounts,
      params: [],
      summary: "Accounts this node signs for: none.",
      handler: () => [],
    }),
    eth_sign: method({
      runs: "reader",
      cost: "cheap",
      result: results.refusal,
      params: [param("address", addressShape), param("message", dataShape)],
      summary: "Refused: this node holds no keys.",
      handler: refuse("sign messages"),
    }),
    eth_signTypedData: method({
      runs: "reader",
      cost: "cheap",
      result: results.refusal,
      params: [param("address", addressShape), param("typedData", anyJson)],
      summary: "Refused: this node holds no keys.",
      handler: refuse("sign messages"),
    }),
    eth_signTransaction: method({
      runs: "reader",
      cost: "cheap",
      result: results.refusal,
      params: [param("transaction", anyJson)],
      summary: "Refused: this node holds no keys.",
      handler: refuse("sign transactions"),
    }),
    eth_sendTransaction: method({
      runs: "reader",
      cost: "cheap",
      result: results.refusal,
      params: [param("transaction", anyJson), optionalParam("block", anyJson)],
      summary: "Refused: this node holds no keys.",
      handler: refuse("sign transactions"),
    }),
  };
}
