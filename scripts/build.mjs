// Builds what is out of date: the EVM engine (WebAssembly), the devnet's contracts, the dashboard's page, then all TypeScript.
import { buildContracts, buildDashboard, buildEngine, buildTypeScript } from "./lib/build-steps.mjs";

buildEngine();
buildContracts();
buildDashboard();
buildTypeScript();
