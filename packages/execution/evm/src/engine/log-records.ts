import type { Log } from "@rnode/protocol";
import { L_ADDRESS, L_DATA_LENGTH, L_SIZE, L_TOPICS, LOG_HEADER } from "./layout.ts";

/**
 * Decodes log records; addresses, topics and data are views of `records`. PERF: a view costs half as much as a copy, and creating
 * it this way two thirds of what `subarray` costs.
 */
export function readLogs(records: Uint8Array): Log[] {
  const { buffer, byteOffset } = records;
  const view = new DataView(buffer, byteOffset, records.byteLength);
  const logs: Log[] = [];
  for (let at = 0; at < records.length; at += view.getUint32(at + L_SIZE, true)) {
    const topics: Uint8Array[] = [];
    let place = at + LOG_HEADER;
    for (let left = view.getUint32(at + L_TOPICS, true); left > 0; left--) {
      topics.push(new Uint8Array(buffer, byteOffset + place, 32));
      place += 32;
    }
    const address = new Uint8Array(buffer, byteOffset + at + L_ADDRESS, 20);
    logs.push({ address, topics, data: new Uint8Array(buffer, byteOffset + place, view.getUint32(at + L_DATA_LENGTH, true)) });
  }
  return logs;
}
