export * from "./sim-clock.ts";
