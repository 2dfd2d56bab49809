export { asm } from "./asm.ts";
