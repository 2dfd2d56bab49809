#!/usr/bin/env node
import { launch } from "@rnode/program/launch";

await launch("rproposer", () => import("../lib/main.js"));
