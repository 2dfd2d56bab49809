export * from "./discv5-duties.ts";
export * from "./udp-transport.ts";
