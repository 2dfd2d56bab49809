/** Log records of the transaction, in order; a frame that fails removes its own. Layout of a record: L_* in layout.ts. */
import { A_RAW_ADDRESS, L_ADDRESS, L_DATA_LENGTH, L_SIZE, L_TOPICS, LOG_HEADER } from "./layout";
import { allocate, enlarge, release } from "./heap";
import { announceBytes, hostTraceLog } from "./host";
import { tracing } from "./rules";
import { writeRaw } from "./word";

@inline const INITIAL: u32 = 1 << 16;

let records: u32 = 0;
let capacity: u32 = 0;
let used: u32 = 0;

export function logsReset(): void {
  if (capacity > INITIAL << 6) {
    release(records, capacity);
    capacity = 0;
  }
  if (capacity == 0) {
    records = allocate(INITIAL);
    capacity = INITIAL;
  }
  used = 0;
}

@inline export function logsPosition(): u32 {
  return used;
}

@inline export function logsPointer(): u32 {
  return records;
}

@inline export function logsRevertTo(position: u32): void {
  used = position;
}

/** Appends a log; the topics are the words below `topics`, the first on top of the stack. */
export function appendLog(account: u32, data: u32, length: u32, topics: u32, topicCount: u32): void {
  announceBytes(length);
  const size = (LOG_HEADER + (topicCount << 5) + length + 7) & ~7;
  if (<u64>used + size > <u64>capacity) {
    let newCapacity = capacity;
    while (<u64>newCapacity < <u64>used + size) newCapacity <<= 1;
    records = enlarge(records, capacity, used, newCapacity);
    capacity = newCapacity;
  }
  const record = records + used;
  used += size;
  store<u32>(record, size, L_SIZE);
  store<u32>(record, topicCount, L_TOPICS);
  store<u32>(record, length, L_DATA_LENGTH);
  memory.copy(record + L_ADDRESS, account + A_RAW_ADDRESS, 20);
  for (let i: u32 = 0; i < topicCount; i++) writeRaw(record + LOG_HEADER + (i << 5), topics - (i << 5));
  memory.copy(record + LOG_HEADER + (topicCount << 5), data, length);
  if (tracing) hostTraceLog(record);
}
