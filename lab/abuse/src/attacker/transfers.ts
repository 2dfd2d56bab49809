import { encodeTransaction, type FeeMarketTransaction, signTransaction } from "@rnode/protocol";
import type { Attacker } from "./attacker.ts";
import { call, post, quantity } from "./requests.ts";

export const toHex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString("hex")}`;

type Fields = Partial<Omit<FeeMarketTransaction, "type" | "chainId" | "nonce">>;

export function transfer(chainId: number, key: Uint8Array, nonce: bigint, fields: Fields = {}): FeeMarketTransaction {
  const unsigned: FeeMarketTransaction = {
    type: 0x02,
    chainId: BigInt(chainId),
    nonce,
    maxPriorityFeePerGas: 1_000_000n,
    maxFeePerGas: 10_000_000_000n,
    accessList: [],
    to: new Uint8Array(20).fill(7),
    value: 1n,
    data: new Uint8Array(0),
    gasLimit: 21_000n,
    ...fields,
  };
  return signTransaction(unsigned, key);
}

export const sendRaw = (transaction: FeeMarketTransaction | string): string =>
  call("eth_sendRawTransaction", [typeof transaction === "string" ? transaction : toHex(encodeTransaction(transaction))]);

/** Sends a request on a new connection. @returns the answer's text; `undefined`: no answer */
export async function ask(attacker: Attacker, port: number, body: string): Promise<string | undefined> {
  const socket = await attacker.connect(port);
  if (!socket) return undefined;
  const answer = await attacker.exchange(socket, post(body));
  socket.destroy();
  return answer?.text;
}

export async function nonceOf(attacker: Attacker, port: number, address: Uint8Array): Promise<bigint> {
  const text = await ask(attacker, port, call("eth_getTransactionCount", [toHex(address), "pending"]));
  return BigInt(/"result":"(0x[0-9a-f]+)"/.exec(text ?? "")?.[1] ?? quantity(0));
}
