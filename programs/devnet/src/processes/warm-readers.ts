import { errorText } from "@rnode/observe";
import { rpcCall } from "../rpc.ts";

/** Loading the code takes half a second alone, and tens of seconds on a busy machine. */
const LIMIT_MS = 60_000;
/** PUSH1 1, PUSH1 0, SSTORE: a trace runs in the thread for costly requests, however short it is. */
const TRACED = [{ input: "0x6001600055" }, "latest", {}] as const;

/**
 * Makes an execution client's reader start its thread for costly requests. Otherwise the first user's estimate or trace waits for
 * it, and may time out. A failed request is reported and not repeated.
 */
export async function warmReaders(name: string, url: string, log: (line: string) => void): Promise<void> {
  try {
    await rpcCall(url, "debug_traceCall", TRACED, LIMIT_MS);
  } catch (error) {
    log(`the first costly request to ${name} may take longer: ${errorText(error)}`);
  }
}
