export { startConductor } from "./start-conductor.ts";
