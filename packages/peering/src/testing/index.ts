export { GoProgram } from "./go-program.ts";
