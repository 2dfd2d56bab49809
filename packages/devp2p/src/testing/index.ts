export { runInterop } from "./interop.ts";
