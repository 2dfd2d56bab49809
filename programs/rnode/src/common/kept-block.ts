import { RpcError, saysBlockIsGone } from "@rnode/jsonrpc";
import { isCodedError } from "@rnode/primitives";

/**
 * The L1 block at a height; `undefined` if it is not there, or no L1 endpoint has it any more (EIP-4444).
 *
 * @throws {L1Error} l1/unavailable for any other reason
 */
export async function keptL1Block<Block>(
  l1: { blockByNumber(number: number): Promise<Block | undefined> },
  number: number,
): Promise<Block | undefined> {
  try {
    return await l1.blockByNumber(number);
  } catch (error) {
    const cause = isCodedError(error, "l1/unavailable") ? error.cause : undefined;
    if (cause instanceof RpcError && saysBlockIsGone(cause)) return undefined;
    throw error;
  }
}
