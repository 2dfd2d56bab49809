import { param, RpcError, rpcErrorOf, SERVER_ERROR } from "@rnode/jsonrpc";
import { bytesToHex, ZERO_ADDRESS } from "@rnode/primitives";
import { encodeTransaction, type SignedTransaction } from "@rnode/protocol";
import { requireState } from "../backend/backend.ts";
import type { Work } from "../backend/work.ts";
import { transactionOfCall } from "../calls/simulated-call.ts";
import { transactionToJson } from "../json/transaction-json.ts";
import { LATEST } from "../params/block-selector.ts";
import { type CallRequest, callRequestShape } from "../params/call-request.ts";
import type { CallFault } from "../profile/profile.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

/** The fees after they were filled in, in one of the two fee models. */
type Fees = Pick<CallRequest, "gasPrice" | "maxFeePerGas" | "maxPriorityFeePerGas">;

/** Creates an unsigned transaction from the given fields. @throws {RpcError} */
export type TransactionFiller = (given: CallRequest, work: Work) => Promise<SignedTransaction>;

/** Fills in fees as Geth and Reth do: the suggested tip, and room for twice the base fee of the head. @throws {RpcError} */
export function feesOf(
  { backend, gasPrice }: Pick<ReadServices, "backend" | "gasPrice">,
  request: CallRequest,
  baseFeeWei: bigint | undefined,
): Fees {
  const refuse = (fault: CallFault): RpcError => rpcErrorOf(backend.profile.errors.call(fault));
  const { gasPrice: price, maxFeePerGas, maxPriorityFeePerGas } = request;
  const isMarket = maxFeePerGas !== undefined || maxPriorityFeePerGas !== undefined;
  if (price !== undefined && isMarket) throw refuse({ kind: "both-fee-models" });
  const none = { gasPrice: undefined, maxFeePerGas: undefined, maxPriorityFeePerGas: undefined };
  if (price !== undefined) return { ...none, gasPrice: price };
  if (baseFeeWei === undefined && !isMarket) return { ...none, gasPrice: gasPrice.gasPriceWei() };
  const tipWei = maxPriorityFeePerGas ?? gasPrice.suggestedTipWei();
  const capWei = maxFeePerGas ?? tipWei + 2n * (baseFeeWei ?? 0n);
  if (capWei < tipWei) {
    const address = bytesToHex(request.from ?? ZERO_ADDRESS);
    throw refuse({ kind: "tip-above-fee-cap", address, tipWei, maxFeeWei: capWei });
  }
  return { ...none, maxFeePerGas: capWei, maxPriorityFeePerGas: tipWei };
}

/** Fills in the missing fields of a transaction before it is signed: nonce, gas and fees. */
export function createTransactionFiller(services: ReadServices): TransactionFiller {
  const { backend, writer, calls } = services;
  const { chain } = backend;

  /**
   * Estimated with the fees that were filled in, as contracts may look at the base fee, which is zero where no price is named. Libraries also ask
   * this for deposits, whose sender pays no fees here and may have no funds: then without them.
   */
  function estimateOf(given: CallRequest, request: CallRequest, work: Work): bigint {
    try {
      return calls.estimateGas(work, request, LATEST);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return calls.estimateGas(work, given, LATEST);
    }
  }

  return async (given, work) => {
    if (given.to === undefined && given.data.length === 0)
      throw new RpcError(SERVER_ERROR, "contract creation without any data provided");
    if (given.gasPrice !== undefined && given.authorizationList !== undefined)
      throw new RpcError(SERVER_ERROR, "both gasPrice and authorizationList specified");
    const { header } = requireState(backend, LATEST);
    const request = { ...given, ...feesOf(services, given, header.baseFeePerGas) };
    const sender = request.from ?? ZERO_ADDRESS;
    const gasLimit = given.gas ?? estimateOf(given, request, work);
    const nonce =
      request.nonce ?? (await writer.nextNonceOf(sender)) ?? requireState(backend, LATEST).state.readAccount(sender)?.nonce;
    const { tx } = transactionOfCall(request, chain.config.chainId, nonce ?? 0n, gasLimit);
    return withAccessList(tx, request);
  };
}

export function ethFillMethods(services: ReadServices): ApiMethods {
  const { profile } = services.backend;
  const fill = createTransactionFiller(services);
  return {
    eth_fillTransaction: method({
      runs: "reader",
      cost: "call",
      result: results.filledTransaction,
      params: [param("transaction", callRequestShape)],
      summary:
        "A transaction with its nonce, gas and fees filled in, ready to be signed: its encoding with an empty signature, and its fields.",
      handler: async ([given], work) => {
        const filled = await fill(given, work);
        const shown = transactionToJson(profile, filled, given.from ?? ZERO_ADDRESS, undefined);
        for (const field of results.PLACE_FIELDS) delete shown[field];
        // Libraries send the answer back unchanged, so it has only one of the two fee models.
        if ("maxFeePerGas" in filled) delete shown.gasPrice;
        if (profile.fillsNullFees) for (const field of ["gasPrice", "maxFeePerGas", "maxPriorityFeePerGas"]) shown[field] ??= null;
        return { raw: bytesToHex(encodeTransaction(filled)), tx: shown };
      },
    }),
  };
}

/** With a gas price, the transaction is of type 0, which has no access list; if the request has one, type 1 is used. */
const withAccessList = (tx: SignedTransaction, { accessList }: CallRequest): SignedTransaction =>
  tx.type === 0x00 && accessList !== undefined && tx.chainId !== undefined
    ? { ...tx, type: 0x01, chainId: tx.chainId, accessList }
    : tx;
