export * from "./lies.ts";
