// Builds what is out of date: the EVM engine (WebAssembly), the devnet's contracts, then all TypeScript.
import { buildContracts, buildEngine, buildTypeScript } from "./lib/build-steps.mjs";

buildEngine();
buildContracts();
buildTypeScript();
