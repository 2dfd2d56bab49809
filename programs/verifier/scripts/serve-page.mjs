// npm run verifier: serves the built page on this machine.
import { servePage } from "../lib/index.js";

const port = Number(process.argv[2] ?? 7420);
const { url } = await servePage(port);
console.log(`the verifier is at ${url}`);
