import {
  type ApiMethods,
  type CallRequest,
  callRequestShape,
  method,
  type TransactionFiller,
  UNLIMITED_WORK,
} from "@rnode/eth-api";
import {
  addressShape,
  anyJson,
  booleanShape,
  dataShape,
  hashShape,
  optionalParam,
  param,
  RpcError,
  SERVER_ERROR,
} from "@rnode/jsonrpc";
import {
  asciiToBytes,
  bytesToHex,
  concatBytes,
  type Hex,
  keccak256,
  padBytesLeft,
  type Signature,
  signHash,
} from "@rnode/primitives";
import { encodeTransaction, hashTransaction, type SignedTransaction, signTransaction } from "@rnode/protocol";
import type { DevPool } from "../dev-pool.ts";
import type { DevAccount } from "../genesis/dev-accounts.ts";
import { ANYTHING, DONE, NOTHING } from "./shapes.ts";
import { readTypedData } from "./typed-data.ts";

export interface AccountMethodsDeps {
  /** the chain that the keys sign for, and no other */
  readonly chainId: () => bigint;
  readonly accounts: readonly DevAccount[];
  readonly fill: TransactionFiller;
  readonly pool: DevPool;
  /** Takes in a raw transaction. @throws {RpcError} */
  readonly submit: (raw: Uint8Array) => Promise<unknown>;
  /** called after a transaction was added to the pool in another way @throws {RpcError} no block can include it */
  readonly admit: (hash: Uint8Array) => void;
}

export interface AccountMethods {
  readonly methods: ApiMethods;
  /** eth_sendTransaction @returns the transaction's hash */
  readonly send: (request: unknown) => Promise<Hex>;
}

const HASH_RESULT = { name: "hash", schema: hashShape.schema };
const BYTES_RESULT = (name: string) => ({ name, schema: dataShape.schema });

/** The accounts with keys, and the impersonated ones, which send transactions without a signature. */
export function accountMethods({ chainId, accounts, fill, pool, submit, admit }: AccountMethodsDeps): AccountMethods {
  const keys = new Map(accounts.map(({ address, privateKey }) => [bytesToHex(address), privateKey]));
  const impersonated = new Set<Hex>();
  let impersonatesAll = false;

  const keyOf = (address: Uint8Array): Uint8Array => {
    const key = keys.get(bytesToHex(address));
    if (key === undefined) throw new RpcError(SERVER_ERROR, `No Signer available: there is no key for ${bytesToHex(address)}`);
    return key;
  };
  /** A signature for another chain would be valid there. */
  const requireOwnChain = (given: bigint | undefined): void => {
    if (given !== undefined && given !== chainId())
      throw new RpcError(
        SERVER_ERROR,
        `chain id ${given}: the keys of this development chain sign for its own, ${chainId()}, only`,
      );
  };
  const filled = (request: CallRequest): Promise<SignedTransaction> => {
    requireOwnChain(request.chainId);
    return fill({ ...request, from: request.from ?? accounts[0]?.address }, UNLIMITED_WORK);
  };

  async function sendAs(request: CallRequest, isUnsigned: boolean): Promise<Hex> {
    const from = request.from ?? accounts[0]?.address;
    if (from === undefined) throw new RpcError(SERVER_ERROR, "from is missing");
    const key = keys.get(bytesToHex(from));
    const mayDoWithout = isUnsigned || impersonatesAll || impersonated.has(bytesToHex(from));
    if (key === undefined && !mayDoWithout) keyOf(from);
    const transaction = await filled(request);
    if (key !== undefined && !isUnsigned) {
      const signed = signTransaction(transaction, key);
      await submit(encodeTransaction(signed));
      return bytesToHex(hashTransaction(signed));
    }
    const unsigned: SignedTransaction = { ...transaction, signature: signatureOfNobody(from) };
    pool.insert(unsigned, from);
    const hash = hashTransaction(unsigned);
    admit(hash);
    return bytesToHex(hash);
  }

  const sign = (summary: string, hashOf: (data: unknown) => Uint8Array, isAddressFirst: boolean) =>
    method({
      runs: "writer",
      result: BYTES_RESULT("signature"),
      params: isAddressFirst
        ? [param("address", anyJson), param("data", anyJson)]
        : [param("data", anyJson), param("address", anyJson), optionalParam("password", anyJson)],
      summary,
      handler: (args) => {
        const [address, data] = isAddressFirst ? [args[0], args[1]] : [args[1], args[0]];
        return signatureHex(signHash(hashOf(data), keyOf(addressShape.parse(address))));
      },
    });
  const typedData = sign(
    "Signs typed data (EIP-712) with the key of a development account.",
    (data) => {
      const { hash, domainChainId } = readTypedData(data);
      requireOwnChain(domainChainId);
      return hash;
    },
    true,
  );

  const methods: ApiMethods = {
    eth_accounts: method({
      runs: "writer",
      result: ANYTHING("accounts"),
      params: [],
      summary: "The development accounts, whose keys are here.",
      handler: () => [...keys.keys()],
    }),
    eth_sendTransaction: method({
      runs: "writer",
      result: HASH_RESULT,
      params: [param("transaction", callRequestShape), optionalParam("block", anyJson)],
      summary: "Signs with the key of a development account, or sends for an impersonated one, and takes the transaction in.",
      handler: ([request]) => sendAs(request, false),
    }),
    eth_sendUnsignedTransaction: method({
      runs: "writer",
      result: HASH_RESULT,
      params: [param("transaction", callRequestShape)],
      summary: "Sends for any account, without a signature.",
      handler: ([request]) => sendAs(request, true),
    }),
    eth_signTransaction: method({
      runs: "writer",
      result: BYTES_RESULT("raw"),
      params: [param("transaction", callRequestShape)],
      summary: "Signs with the key of a development account.",
      handler: async ([request]) => {
        const key = keyOf(request.from ?? accounts[0]?.address ?? new Uint8Array(20));
        return bytesToHex(encodeTransaction(signTransaction(await filled(request), key)));
      },
    }),
    eth_sign: sign("Signs a message (EIP-191) with the key of a development account.", messageHash, true),
    personal_sign: sign("Like eth_sign, with the message first.", messageHash, false),
    eth_signTypedData: typedData,
    eth_signTypedData_v3: typedData,
    eth_signTypedData_v4: typedData,
    anvil_impersonateAccount: method({
      runs: "writer",
      result: NOTHING,
      params: [param("address", addressShape)],
      summary: "eth_sendTransaction sends for this account from now on, contract or not.",
      handler: ([address]) => {
        impersonated.add(bytesToHex(address));
      },
    }),
    anvil_stopImpersonatingAccount: method({
      runs: "writer",
      result: NOTHING,
      params: [param("address", addressShape)],
      summary: "Ends anvil_impersonateAccount.",
      handler: ([address]) => {
        impersonated.delete(bytesToHex(address));
      },
    }),
    anvil_autoImpersonateAccount: method({
      runs: "writer",
      result: NOTHING,
      params: [param("enabled", booleanShape)],
      summary: "Whether eth_sendTransaction sends for every account.",
      handler: ([enabled]) => {
        impersonatesAll = enabled;
      },
    }),
    anvil_dropTransaction: method({
      runs: "writer",
      result: ANYTHING("hash"),
      params: [param("hash", hashShape)],
      summary: "Removes a transaction from the pool; null: it is not there.",
      handler: ([hash]) => (pool.remove(hash) ? bytesToHex(hash) : null),
    }),
    anvil_dropAllTransactions: method({
      runs: "writer",
      result: NOTHING,
      params: [],
      summary: "Empties the pool.",
      handler: () => pool.clear(),
    }),
    anvil_removePoolTransactions: method({
      runs: "writer",
      result: NOTHING,
      params: [param("address", addressShape)],
      summary: "Removes an account's transactions from the pool.",
      handler: ([address]) => pool.clear(address),
    }),
    eth_requestAccounts: method({
      runs: "writer",
      result: DONE,
      params: [],
      summary: "Like eth_accounts.",
      handler: () => [...keys.keys()],
    }),
  };
  return { methods, send: (request) => sendAs(callRequestShape.parse(request), false) };
}

/** No key made it: r is the sender, so that the same transaction of another sender has another hash. */
const signatureOfNobody = (sender: Uint8Array): Signature => ({
  r: padBytesLeft(sender, 32),
  s: padBytesLeft(Uint8Array.of(1), 32),
  yParity: 0,
});

function messageHash(data: unknown): Uint8Array {
  const message = typeof data === "string" && !data.startsWith("0x") ? new TextEncoder().encode(data) : dataShape.parse(data);
  return keccak256(concatBytes(asciiToBytes(`\x19Ethereum Signed Message:\n${message.length}`), message));
}

const signatureHex = ({ r, s, yParity }: Signature): Hex => bytesToHex(concatBytes(r, s, Uint8Array.of(27 + yParity)));
