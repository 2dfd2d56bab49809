export * from "./sim-peer.ts";
