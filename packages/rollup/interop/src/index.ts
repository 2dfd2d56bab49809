export * from "./block-messages.ts";
export * from "./check-blocks.ts";
export * from "./executing-message.ts";
export * from "./message-cycles.ts";
export * from "./message-rules.ts";
