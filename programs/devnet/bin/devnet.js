#!/usr/bin/env node
import { launch } from "@rnode/program/launch";

await launch("devnet", () => import("../lib/main.js"));
