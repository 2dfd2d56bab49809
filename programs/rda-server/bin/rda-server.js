#!/usr/bin/env node
import { launch } from "@rnode/program/launch";

await launch("rda-server", () => import("../lib/main.js"));
