import { serveWorker } from "@rnode/threads/serve";
import { LineParser, type LinesPart, type ParsedLines } from "./line-parser.ts";

// The thread of `readStateLines`: receives parts of the text, and returns rows.

const parser = new LineParser();

serveWorker<LinesPart, ParsedLines>((part) => {
  const answer = parser.parse(part);
  if (answer.kind === "fault") return { answer, transfer: [] };
  const { accounts, slots } = answer.packed;
  return { answer, transfer: [accounts.buffer as ArrayBuffer, slots.buffer as ArrayBuffer] };
});
