export * from "./fake-beacon.ts";
