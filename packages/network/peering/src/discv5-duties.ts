import type { Discv5 } from "@chainsafe/discv5";
import type { ENR } from "@chainsafe/enr";
import type { Clock } from "@rnode/primitives";

type NodeAddress = Parameters<Discv5["sendTalkResp"]>[0];

/** What the library has, but for the types of its events, which are those of another library. */
interface Service {
  on(event: "talkReqReceived", listener: (from: NodeAddress, record: unknown, request: { readonly id: bigint }) => void): unknown;
  on(event: "enrAdded", listener: (record: ENR) => void): unknown;
  sendTalkResp(to: NodeAddress, requestId: bigint, payload: Uint8Array): Promise<void>;
  sendPing(record: ENR): Promise<unknown>;
}

const CHECK_INTERVAL_MS = 1_000;
const MAX_WAITING = 64;

/**
 * What the specification demands of a node, and the library leaves to its user. Requests of protocols that we do not speak, which are all, are
 * answered with nothing. Nodes that are new in the table are asked, one a second, whether they are there: those that are not leave it, and others are
 * not told of them.
 */
export async function doDiscv5Duties(discv5: Discv5, clock: Pick<Clock, "sleep">, signal: AbortSignal): Promise<void> {
  const service = discv5 as unknown as Service;
  service.on("talkReqReceived", (from, _, { id }) => void service.sendTalkResp(from, id, new Uint8Array()));
  const waiting: ENR[] = [];
  service.on("enrAdded", (record) => {
    if (waiting.length < MAX_WAITING) waiting.push(record);
  });
  while (!signal.aborted) {
    await clock.sleep(CHECK_INTERVAL_MS, signal);
    const record = signal.aborted ? undefined : waiting.shift();
    if (record !== undefined) void service.sendPing(record).catch(() => undefined); // the library draws the consequences
  }
}
