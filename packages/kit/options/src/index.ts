export * from "./duration.ts";
export type { ForeignProgram } from "./foreign-program.ts";
export * from "./help-text.ts";
export * from "./nearest-name.ts";
export * from "./option-group.ts";
export * from "./parse-options.ts";
export * from "./parsers.ts";
