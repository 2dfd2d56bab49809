import { lowerOwnPriority } from "./thread-priority.ts";

// First of all: loading the rest takes some tenths of a second of CPU time.
lowerOwnPriority();
await import("./costly-work.ts");
