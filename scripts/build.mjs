// Builds outdated files: the EVM engine (WebAssembly), the devnet's contracts, the pages of dashboard and verifier, then all
// TypeScript.
import { buildPrograms } from "./lib/build-steps.mjs";

buildPrograms();
