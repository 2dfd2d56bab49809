// Builds what is out of date: the EVM engine (WebAssembly), the devnet's contracts, the pages of dashboard and verifier, then all TypeScript.
import { buildPrograms } from "./lib/build-steps.mjs";

buildPrograms();
