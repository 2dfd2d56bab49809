export * from "./describe-migration.ts";
export * from "./foreign-check.ts";
