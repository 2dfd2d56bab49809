import type { Discv5 } from "@chainsafe/discv5";
import type { ENR } from "@chainsafe/enr";
import type { Clock } from "@rnode/primitives";

type NodeAddress = Parameters<Discv5["sendTalkResp"]>[0];

/** The used part of the library, without the types of its events, which come from another library. */
interface Service {
  on(event: "talkReqReceived", listener: (from: NodeAddress, record: unknown, request: { readonly id: bigint }) => void): unknown;
  on(event: "enrAdded", listener: (record: ENR) => void): unknown;
  sendTalkResp(to: NodeAddress, requestId: bigint, payload: Uint8Array): Promise<void>;
  sendPing(record: ENR): Promise<unknown>;
}

const CHECK_INTERVAL_MS = 1_000;
const MAX_WAITING = 64;

/**
 * Duties of the specification that the library leaves to its user. Requests of unsupported protocols (all) get an empty answer.
 * New nodes in the table are pinged, one per second; nodes without an answer are removed, so they are not sent to others.
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
